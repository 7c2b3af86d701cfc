import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';

/** Who reads the mails to a merchant, as the database has it. */
export interface MailReader {
  merchantName: string;
  /** The address of the merchant's user, or else of the merchant. */
  merchantEmail: string;
  /** The kinds that the merchant's user has switched off. */
  mutedMails: readonly string[];
}

/** SQL: the columns of a {@link MailReader}, for a query with {@link joinMailReader}. */
export const mailReader = (sql: Sql) => sql`
  m.name AS merchant_name, coalesce(u.email, m.email) AS merchant_email,
  coalesce(u.muted_mails, '{}') AS muted_mails`;

/** SQL: the joins of {@link mailReader}. @param table that names the merchant */
export const joinMailReader = (sql: Sql, table: Fragment) => sql`
  JOIN merchants m ON m.merchant_id = ${table}.merchant_id
  LEFT JOIN users u ON u.merchant_id = ${table}.merchant_id AND u.disabled_at IS NULL`;
