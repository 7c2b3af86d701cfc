import type { Sql } from '../db/client.ts';
import { alongsideQuery, andAlongside } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import type { MerchantAdminDeps } from './commands.ts';
import { merchantNotFound } from './queries.ts';

const MAX_ORIGINS = 100;

/**
 * Sets the origins from which browsers may call an environment's API; an empty list allows all.
 *
 * @param origins such as `https://shop.example.com`; a domain alone means https
 * @returns the origins as the API compares them, without duplicates
 * @throws DomainError `BAD_REQUEST`, `NOT_FOUND`
 */
export async function setOrigins(
  { sql, actor, alongside }: MerchantAdminDeps,
  merchantId: string,
  environment: Environment,
  origins: readonly string[],
): Promise<string[]> {
  const normalized = [...new Set(origins.map(normalizeOrigin))];
  if (normalized.length > MAX_ORIGINS) {
    throw new DomainError('BAD_REQUEST', `At most ${MAX_ORIGINS} origins can be set`);
  }
  const rows = await sql`
    WITH saved AS (
      INSERT INTO merchant_environments (merchant_id, environment, allowed_origins)
      SELECT merchant_id, ${environment}, ${normalized}::text[]
      FROM merchants WHERE merchant_id = ${merchantId}
      ON CONFLICT (merchant_id, environment) DO UPDATE SET
        allowed_origins = excluded.allowed_origins, updated_at = clock_timestamp()
      RETURNING merchant_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'origins.set', merchant_id,
        ${sql.json({ environment, origins: normalized })}
      FROM saved
    ) ${alongsideQuery(sql, alongside, 'saved')}
    SELECT FROM saved ${andAlongside(sql, alongside)}`;
  if (rows.length === 0) throw merchantNotFound(merchantId);
  return normalized;
}

export async function findOrigins(
  sql: Sql,
  merchantId: string,
  environment: Environment,
): Promise<string[]> {
  const [row] = await sql<{ origins: string[] }[]>`
    SELECT coalesce(e.allowed_origins, '{}') AS origins FROM merchants m
    LEFT JOIN merchant_environments e
      ON e.merchant_id = m.merchant_id AND e.environment = ${environment}
    WHERE m.merchant_id = ${merchantId}`;
  if (!row) throw merchantNotFound(merchantId);
  return row.origins;
}

/**
 * Converts an origin to the form that browsers send: lower case, Punycode, no default port, nothing after the host.
 *
 * @throws DomainError `BAD_REQUEST`
 */
function normalizeOrigin(text: string): string {
  const trimmed = text.trim();
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`);
  const isOrigin =
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.href === `${url.origin}/` &&
    /^[a-z0-9.:[\]-]+$/.test(url.hostname);
  if (isOrigin) return url.origin;
  const message = `"${trimmed}" is no origin: it must be like https://shop.example.com`;
  throw new DomainError('BAD_REQUEST', message);
}
