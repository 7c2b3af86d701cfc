import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import type { Readiness } from './readiness.ts';

/** Only an APPROVED merchant may call the API. */
export type MerchantStatus = 'PENDING' | 'APPROVED' | 'REJECTED' | 'SUSPENDED';

export interface MerchantRow extends Readiness {
  merchantId: string;
  name: string;
  email: string;
  status: MerchantStatus;
  /** True if it was approved before; it is then treated like a suspended merchant, see `access_status_of`. */
  approvalRevoked: boolean;
  statusReason: string | null;
  /** How often the merchant has submitted its application. */
  submissions: number;
  /** The accounts that the gateway pays out to now. */
  linkedAccounts: Partial<Record<Environment, string>>;
  /** The account that production will pay out to, and from when. Null if no change waits. */
  waitingAccountId: string | null;
  waitingUntil: Date | null;
  createdAt: Date;
}

/** SQL: the columns of {@link Readiness} except the gateway, for merchant `m` with {@link readinessJoin}. */
export const readinessColumns = (sql: Sql) => sql`
  is_merchant_ready(m.merchant_id, 'production', m.gateway) AS is_ready,
  paid_to.state AS linked_account_state, paid_to.transfers_from`;

/** SQL: joins the linked account that merchant `m`'s present gateway pays out to in production. */
export const readinessJoin = (sql: Sql) => sql`
  LEFT JOIN LATERAL active_linked_account(m.merchant_id, 'production', m.gateway) paid_to ON true`;

const merchantRows = (sql: Sql) => sql`
  SELECT m.*, coalesce((SELECT jsonb_object_agg(a.environment, a.linked_account_id)
      FROM (VALUES ('sandbox'::environment), ('production')) AS of (environment),
        active_linked_account(m.merchant_id, of.environment, m.gateway) a),
    '{}') AS linked_accounts,
    waiting.linked_account_id AS waiting_account_id, waiting.active_from AS waiting_until,
    ${readinessColumns(sql)}
  FROM merchants m ${readinessJoin(sql)}
  LEFT JOIN LATERAL waiting_linked_account(m.merchant_id, 'production', m.gateway) waiting ON true`;

export async function findMerchant(sql: Sql, merchantId: string): Promise<MerchantRow | undefined> {
  const [row] = await sql<MerchantRow[]>`
    ${merchantRows(sql)} WHERE m.merchant_id = ${merchantId}`;
  return row;
}

export async function requireMerchant(sql: Sql, merchantId: string): Promise<MerchantRow> {
  const merchant = await findMerchant(sql, merchantId);
  if (!merchant) throw merchantNotFound(merchantId);
  return merchant;
}

export async function listMerchants(sql: Sql, status?: MerchantStatus): Promise<MerchantRow[]> {
  return sql<MerchantRow[]>`
    ${merchantRows(sql)} ${status ? sql`WHERE m.status = ${status}` : sql``}
    ORDER BY m.created_at DESC, m.merchant_id DESC`;
}

export function merchantNotFound(merchantId: string): DomainError {
  return new DomainError('NOT_FOUND', `Merchant not found: ${merchantId}`);
}

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

export type WithMerchantName<Row> = Row & {
  /** Null if the row has no merchant. */
  merchantName: string | null;
};

/** Adds the merchants' names to the rows of a page, with one statement. */
export async function withMerchantNames<Row extends { merchantId: string | null }>(
  sql: Sql,
  rows: readonly Row[],
): Promise<WithMerchantName<Row>[]> {
  const ids = [...new Set(rows.map(({ merchantId }) => merchantId))].filter((id) => id !== null);
  const found =
    ids.length === 0
      ? []
      : await sql<{ merchantId: string; name: string }[]>`
          SELECT merchant_id, name FROM merchants WHERE merchant_id = ANY (${ids})`;
  const names = new Map(found.map(({ merchantId, name }) => [merchantId, name]));
  return rows.map((row) => ({ ...row, merchantName: names.get(row.merchantId ?? '') ?? null }));
}
