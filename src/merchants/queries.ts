import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import { isUseDue } from './keys/key-use.ts';
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

/** The merchant of an API key; for an unknown key, placeholder values of the same shape. */
export interface KeyHolder {
  isKnown: boolean;
  merchantId: string;
  name: string;
  /** Decides what the merchant may do: see `access_status_of`. */
  status: MerchantStatus;
  secretHmac: Uint8Array;
  /** The pepper of the HMAC. Zeros if it is not known. */
  pepperId: string;
  allowedOrigins: string[];
  isReady: boolean;
  /** True if the next POST in the sandbox answers 500 after its work. */
  failsAfterWork: boolean;
  /** True if its last recorded use is at least a minute ago. */
  isUseDue: boolean;
}

const UNKNOWN_MERCHANT_ID = 'mer_00000000000000000000000000';

/**
 * Reads keys from the database, without a cache: a rotation takes effect on the next request.
 *
 * An unknown key takes the same look-ups and returns a row of the same size, so that the time does not distinguish
 * it from a wrong secret: an empty result was measurably faster (4 %).
 *
 * The keys are JSON: postgres.js writes arrays only once a connection has read the types of the database.
 *
 * @returns one holder for each key, in order
 */
export const findKeyHolders = async (
  sql: Sql,
  environment: Environment,
  apiKeys: readonly string[],
): Promise<KeyHolder[]> => sql<KeyHolder[]>`
  SELECT k.api_key IS NOT NULL AS is_known,
    coalesce(m.merchant_id, ${UNKNOWN_MERCHANT_ID}) AS merchant_id,
    coalesce(m.name, 'Unknown Company') AS name,
    coalesce(access_status_of(m), 'APPROVED') AS status,
    coalesce(k.secret_hmac, decode(repeat('00', 32), 'hex')) AS secret_hmac,
    coalesce(k.pepper_id, '00000000') AS pepper_id,
    coalesce(e.allowed_origins, '{}') AS allowed_origins,
    is_merchant_ready(coalesce(k.merchant_id, ${UNKNOWN_MERCHANT_ID}), given.environment,
      coalesce(m.gateway, '')) AS is_ready,
    given.environment = 'sandbox' AND coalesce(e.fails_after_work, false) AS fails_after_work,
    ${isUseDue(sql)} AS is_use_due
  FROM (SELECT ${environment}::environment AS environment, keys.*
    FROM jsonb_array_elements_text(${sql.json([...apiKeys])}) WITH ORDINALITY AS keys (api_key, place)) given
  LEFT JOIN api_keys k ON k.api_key = given.api_key AND k.environment = given.environment
  LEFT JOIN merchants m ON m.merchant_id = coalesce(k.merchant_id, ${UNKNOWN_MERCHANT_ID})
  LEFT JOIN merchant_environments e
    ON e.merchant_id = coalesce(k.merchant_id, ${UNKNOWN_MERCHANT_ID}) AND e.environment = given.environment
  ORDER BY given.place`;

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
