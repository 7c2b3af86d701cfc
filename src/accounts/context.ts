import type { Sql } from '../db/client.ts';
import type { Mail } from '../mail/public.ts';
import type { SecretBox } from '../secret-box.ts';

export interface AccountDeps {
  sql: Sql;
  /** Seals the secrets of two-factor codes. */
  dataBox: SecretBox;
  /** Stores the mail. Resolves when it is stored; the workflow `mail-<mail id>` sends it. */
  sendMail(mail: Mail): Promise<void>;
  publicBaseUrl: string;
  /** Unix milliseconds. Two-factor codes are compared with this time. */
  nowMs(): number;
}

export interface Client {
  address: string;
  userAgent: string;
  /** The value of the cookie `DEVICE_COOKIE`. */
  deviceToken?: string | undefined;
  /** The session of the browser's cookie, which a login ends. */
  sessionToken?: string | undefined;
}
