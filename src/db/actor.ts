/** Who makes a change, and from where: the columns `actor` and `address` of the audit log. */
export interface Actor {
  /**
   * `key:` and an API key, `merchant:` or `operator:` and an e-mail address, `cli:` and a login name, `buyer`
   * for the holder of a payment token, `gateway`.
   */
  name: string;
  /** The IP address of the client; null on the command line. */
  address: string | null;
}
