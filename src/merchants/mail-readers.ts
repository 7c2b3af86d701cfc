import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';

/** Who gets the mails to a merchant. */
export interface MailReader {
  merchantName: string;
  /** The address of the merchant's user, else the merchant's own. */
  merchantEmail: string;
  /** The kinds of mails that the merchant's user has switched off. */
  mutedMails: readonly string[];
}

/** SQL: the columns of a {@link MailReader}, for a query with {@link joinMailReader}. */
export const mailReader = (sql: Sql) => sql`
  m.name AS merchant_name, coalesce(u.email, m.email) AS merchant_email,
  coalesce(u.muted_mails, '{}') AS muted_mails`;

/** SQL: the joins for {@link mailReader}. @param table the table that has the merchant's id */
export const joinMailReader = (sql: Sql, table: Fragment) => sql`
  JOIN merchants m ON m.merchant_id = ${table}.merchant_id
  LEFT JOIN shared.users u ON u.merchant_id = ${table}.merchant_id AND u.disabled_at IS NULL`;
