import { ulid } from 'ulid';
import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import type { KeyPair } from './credentials.ts';
import { generateKeyPair, hmacOfSecret } from './credentials.ts';
import type { MerchantRow, MerchantStatus } from './queries.ts';

/** Who does it: everything here leaves an audit row in the same statement. */
export interface MerchantAdminDeps {
  sql: Sql;
  pepper: string;
  actor: string;
}

/** Registers a merchant, who may do nothing until it is approved. */
export async function createMerchant(
  { sql, actor }: MerchantAdminDeps,
  merchant: { name: string; email: string },
): Promise<MerchantRow> {
  const merchantId = `mer_${ulid()}`;
  const [row] = await sql<MerchantRow[]>`
    WITH audited AS (
      INSERT INTO audit_log (actor, action, merchant_id) VALUES (${actor}, 'merchant.create', ${merchantId})
    )
    INSERT INTO merchants (merchant_id, name, email)
    VALUES (${merchantId}, ${merchant.name}, ${merchant.email})
    RETURNING *`;
  if (!row) throw new Error('INSERT … RETURNING always answers');
  return row;
}

/**
 * Approves, rejects, suspends or activates a merchant.
 *
 * @returns undefined when there is no such merchant
 */
export async function setMerchantStatus(
  { sql, actor }: MerchantAdminDeps,
  merchantId: string,
  status: MerchantStatus,
  reason: string | null = null,
): Promise<MerchantRow | undefined> {
  const [row] = await sql<MerchantRow[]>`
    WITH changed AS (
      UPDATE merchants SET status = ${status}, status_reason = ${reason}
      WHERE merchant_id = ${merchantId} RETURNING *
    ), audited AS (
      INSERT INTO audit_log (actor, action, merchant_id, details)
      SELECT ${actor}, 'merchant.status', merchant_id, ${sql.json({ status, reason })} FROM changed
    )
    SELECT * FROM changed`;
  return row;
}

/**
 * Gives the merchant a key pair for an environment, or replaces the one it has: the old pair is
 * dead at once. The secret is returned here and never again.
 */
export async function putKeyPair(
  { sql, pepper, actor }: MerchantAdminDeps,
  merchantId: string,
  environment: Environment,
  pair: KeyPair = generateKeyPair(environment),
): Promise<KeyPair> {
  const hmac = hmacOfSecret(pepper, pair.apiSecret);
  await sql`
    WITH audited AS (
      INSERT INTO audit_log (actor, action, merchant_id, subject)
      VALUES (${actor}, 'key.put', ${merchantId}, ${pair.apiKey})
    )
    INSERT INTO api_keys (api_key, merchant_id, environment, secret_hmac)
    VALUES (${pair.apiKey}, ${merchantId}, ${environment}, ${hmac})
    ON CONFLICT (merchant_id, environment) DO UPDATE SET
      api_key = excluded.api_key, secret_hmac = excluded.secret_hmac, rotated_at = clock_timestamp()`;
  return pair;
}
