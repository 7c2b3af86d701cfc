import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';

export type MerchantStatus = 'PENDING' | 'APPROVED' | 'REJECTED' | 'SUSPENDED';

/** A row of `merchants`. */
export interface MerchantRow {
  merchant_id: string;
  name: string;
  email: string;
  status: MerchantStatus;
  status_reason: string | null;
  linked_accounts: Partial<Record<Environment, string>>;
  created_at: Date;
}

/** What a request's API key belongs to. */
export interface KeyHolder {
  merchant_id: string;
  name: string;
  status: MerchantStatus;
  secret_hmac: Uint8Array;
  allowed_origins: string[] | null;
}

/** Looks a key up afresh for each request: a rotated secret is dead on the very next one. */
export async function findKeyHolder(
  sql: Sql,
  environment: Environment,
  apiKey: string,
): Promise<KeyHolder | undefined> {
  const [row] = await sql<KeyHolder[]>`
    SELECT m.merchant_id, m.name, m.status, k.secret_hmac, e.allowed_origins
    FROM api_keys k
    JOIN merchants m USING (merchant_id)
    LEFT JOIN merchant_environments e
      ON e.merchant_id = k.merchant_id AND e.environment = k.environment
    WHERE k.api_key = ${apiKey} AND k.environment = ${environment}`;
  return row;
}

/** The merchant of that id. */
export async function findMerchant(sql: Sql, merchantId: string): Promise<MerchantRow | undefined> {
  const [row] = await sql<MerchantRow[]>`SELECT * FROM merchants WHERE merchant_id = ${merchantId}`;
  return row;
}

/** Merchants, the newest first, of one status or of all. */
export async function listMerchants(sql: Sql, status?: MerchantStatus): Promise<MerchantRow[]> {
  return sql<MerchantRow[]>`
    SELECT * FROM merchants
    ${status ? sql`WHERE status = ${status}` : sql``}
    ORDER BY merchant_id DESC`;
}

export function merchantNotFound(merchantId: string): DomainError {
  return new DomainError('NOT_FOUND', `Merchant not found: ${merchantId}`);
}
