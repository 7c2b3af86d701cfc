/** Who makes a change, and from where: the columns `actor` and `address` of the audit log. */
export interface Actor {
  /** `cli:` and a login name, `merchant:` or `operator:` and an e-mail address, … */
  name: string;
  /** The IP address of the client; null on the command line. */
  address: string | null;
}
