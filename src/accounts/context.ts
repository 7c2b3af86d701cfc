import type { Sql } from '../db/client.ts';
import type { Mail } from '../mail/public.ts';
import type { SecretBox } from '../secret-box.ts';

/** What the accounts need. */
export interface AccountDeps {
  sql: Sql;
  /** Seals the secrets of two-factor codes. */
  dataBox: SecretBox;
  /** Resolves when the mail is stored, from where it is sent. */
  sendMail(mail: Mail): Promise<void>;
  /** The origin of the links in mails. */
  publicBaseUrl: string;
  /** The time of two-factor codes, which is that of the users' devices. */
  nowMs(): number;
}

/** The browser that sends a request. */
export interface Client {
  /** The IP address. */
  address: string;
  /** The User-Agent header. */
  userAgent: string;
  /** Of the browser's `DEVICE_COOKIE`. */
  deviceToken?: string | undefined;
  /** The session of the browser's cookie, which a login ends. */
  sessionToken?: string | undefined;
}
