/** The person or system that makes a change, as the audit log's columns `actor` and `address` record it. */
export interface Actor {
  /**
   * `key:` and an API key, `merchant:` or `operator:` and an e-mail address, `cli:` and a login name, `buyer`
   * for the holder of a payment token, `gateway`.
   */
  name: string;
  /** Null on the command line. */
  address: string | null;
}
