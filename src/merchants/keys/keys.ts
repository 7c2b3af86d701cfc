import type { Alongside, Sql } from '../../db/client.ts';
import { alongsideQuery, andAlongside } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import { errorOf } from '../../http/responses/errors.ts';
import type { MerchantAdminDeps } from '../commands.ts';
import type { KeyPair } from './credentials.ts';
import { generateKeyPair, storedSecretOf } from './credentials.ts';
import { requireMerchant } from '../queries.ts';

export interface KeyDeps extends MerchantAdminDeps {
  /** API_SECRET_PEPPER: the HMAC keys for secrets, the newest first. */
  pepper: string;
  alongside?: Alongside | undefined;
}

export interface ListedKey {
  apiKey: string;
  environment: Environment;
  createdAt: Date;
  rotatedAt: Date | null;
  /** The time of the last request with the right secret, to the minute. Null before the first. */
  lastUsedAt: Date | null;
}

/**
 * Creates the key pair of a merchant in one environment, and returns its secret, which is never returned again.
 * Source: the specification's "Authentication" 3: a merchant gets keys after its approval.
 *
 * @throws DomainError `NOT_FOUND`, `MERCHANT_NOT_APPROVED`, `INVALID_STATE` when a key exists
 */
export async function createKeyPair(
  { sql, pepper, actor, alongside }: KeyDeps,
  merchantId: string,
  environment: Environment,
): Promise<KeyPair> {
  const pair = generateKeyPair(environment);
  const { secretHmac, pepperId } = storedSecretOf(pepper, pair.apiSecret);
  const rows = await sql`
    WITH created AS (
      INSERT INTO api_keys (api_key, merchant_id, environment, secret_hmac, pepper_id)
      SELECT ${pair.apiKey}, merchant_id, ${environment}, ${secretHmac}, ${pepperId}
      FROM merchants m WHERE merchant_id = ${merchantId} AND access_status_of(m) IN ('APPROVED', 'SUSPENDED')
      ON CONFLICT (merchant_id, environment) DO NOTHING
      RETURNING merchant_id, api_key
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject)
      SELECT ${actor.name}, ${actor.address}, 'key.create', merchant_id, api_key FROM created
    ) ${alongsideQuery(sql, alongside, 'created')}
    SELECT FROM created ${andAlongside(sql, alongside)}`;
  if (rows.length > 0) return pair;
  const { status, approvalRevoked } = await requireMerchant(sql, merchantId);
  if ((status === 'PENDING' || status === 'REJECTED') && !approvalRevoked) {
    throw errorOf('MERCHANT_NOT_APPROVED');
  }
  const message = `Merchant ${merchantId} has a key for ${environment}: rotate its secret`;
  throw new DomainError('INVALID_STATE', message);
}

/**
 * Replaces the secret of a key. The old secret is refused with 401 from the next request on. The key itself stays,
 * because it identifies the merchant. Source: the specification's "Authentication" 4.
 *
 * @returns the key with its new secret, which is never returned again
 * @throws DomainError `NOT_FOUND`, `INVALID_STATE` when there is no key
 */
export async function rotateSecret(
  { sql, pepper, actor, alongside }: KeyDeps,
  merchantId: string,
  environment: Environment,
): Promise<KeyPair> {
  const { apiSecret } = generateKeyPair(environment);
  const { secretHmac, pepperId } = storedSecretOf(pepper, apiSecret);
  const [row] = await sql<{ apiKey: string }[]>`
    WITH rotated AS (
      UPDATE api_keys
      SET secret_hmac = ${secretHmac}, pepper_id = ${pepperId}, rotated_at = clock_timestamp()
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
      RETURNING merchant_id, api_key
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject)
      SELECT ${actor.name}, ${actor.address}, 'key.rotate', merchant_id, api_key FROM rotated
    ) ${alongsideQuery(sql, alongside, 'rotated')}
    SELECT api_key FROM rotated ${andAlongside(sql, alongside)}`;
  if (row) return { apiKey: row.apiKey, apiSecret };
  await requireMerchant(sql, merchantId);
  const message = `Merchant ${merchantId} has no key for ${environment}: create one`;
  throw new DomainError('INVALID_STATE', message);
}

/** Lists a merchant's keys. @throws DomainError `NOT_FOUND` */
export async function listKeys(sql: Sql, merchantId: string): Promise<ListedKey[]> {
  await requireMerchant(sql, merchantId);
  return sql<ListedKey[]>`
    SELECT api_key, environment, created_at, rotated_at, last_used_at
    FROM api_keys WHERE merchant_id = ${merchantId} ORDER BY environment`;
}
