import type { Logger } from 'pino';
import { createBatches } from '../../db/batches.ts';
import type { Sql } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import { errorOf } from '../../http/responses/errors.ts';
import type { Authenticate } from '../../http/merchant-checks.ts';
import { createLimiter } from '../../limiter.ts';
import { explainRefusal, pepperIdsOf, storedSecretOf, verifySecret } from './credentials.ts';
import type { MerchantStatus } from '../queries.ts';
import { failIfArmed } from '../sandbox-fault.ts';

/** A read of keys takes a few milliseconds; after this time the next read does not wait for it. */
const HANGS_AFTER_MS = 50;

/**
 * Checks both credential headers against the database, then the merchant, then the Origin.
 * Source: the specification's "Authentication".
 */
export function createAuthenticate(deps: {
  sql: Sql;
  pepper: string;
  recordKeyUse?: RecordKeyUse;
  /** Called after each request with the right secret. */
  renewHmac?: RenewHmac;
}): Authenticate {
  // Reads keys that are requested at the same time together. Measured with 64 concurrent requests, for 1 and for 32
  // keys: 35 and 46 µs for each read, against 387 and 478 µs one by one.
  const readerOf = (environment: Environment) =>
    createBatches<string, KeyHolder>(
      (apiKeys) => findKeyHolders(deps.sql, environment, apiKeys),
      HANGS_AFTER_MS,
    );
  const readers = { sandbox: readerOf('sandbox'), production: readerOf('production') };
  return async ({ environment, apiKey = '', apiSecret = '', origin }) => {
    // PostgreSQL's text cannot contain NUL, and no key does. With the replacement it is an unknown key.
    const holder = await readers[environment](apiKey.replaceAll('\0', '?'));
    const isVerified = verifySecret(deps.pepper, apiSecret, holder.secretHmac);
    if (!isVerified || !holder.isKnown) throw refusalOf(environment, apiKey, apiSecret);
    if (holder.isUseDue) deps.recordKeyUse?.(apiKey);
    deps.renewHmac?.(apiKey, apiSecret, holder);
    if (holder.status === 'SUSPENDED') throw errorOf('MERCHANT_NOT_ACTIVE');
    if (holder.status !== 'APPROVED') throw errorOf('MERCHANT_NOT_APPROVED');
    if (!isOriginAllowed(origin, holder.allowedOrigins)) throw errorOf('ORIGIN_NOT_ALLOWED');
    const { merchantId: id, name, isReady, failsAfterWork } = holder;
    const fault = failsAfterWork && { afterWork: () => failIfArmed(deps.sql, id) };
    return { id, name, apiKey, isReady, ...fault };
  };
}

/** Called after the secret was compared, so that all refusals take the same time. */
function refusalOf(environment: Environment, apiKey: string, apiSecret: string): DomainError {
  const message = explainRefusal(environment, { apiKey, apiSecret });
  return message === undefined ? errorOf('UNAUTHORIZED') : new DomainError('UNAUTHORIZED', message);
}

/** A request without an Origin (server to server) is allowed. An empty list allows every Origin. */
function isOriginAllowed(origin: string | undefined, allowed: readonly string[]): boolean {
  return origin === undefined || allowed.length === 0 || allowed.includes(origin.toLowerCase());
}

/** The merchant of an API key; for an unknown key, placeholder values of the same shape. */
interface KeyHolder {
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

/** SQL: the last recorded use of key `k` is at least a minute ago. */
const isUseDue = (sql: Sql) => sql`
  coalesce(k.last_used_at <= clock_timestamp() - interval '1 minute', true)`;

/** Records that a key was used. Returns immediately, and never throws. */
type RecordKeyUse = (apiKey: string) => void;

/**
 * Records when keys were last used. No request waits for it. A process has at most one write under way for each key.
 * Errors are logged.
 */
export function createKeyUse({ sql, log }: { sql: Sql; log: Logger }): RecordKeyUse {
  const underWay = new Error('The use of this key is being written');
  const writes = createLimiter({ ofOne: 1, maxWaitMs: 0 }, () => underWay);
  // Another process may have written since the key was read, so the statement checks the interval again.
  const write = async (apiKey: string) => sql`
    UPDATE api_keys k SET last_used_at = clock_timestamp()
    WHERE api_key = ${apiKey} AND ${isUseDue(sql)}`;
  return (apiKey) => {
    writes
      .run(apiKey, () => write(apiKey))
      .catch((err: unknown) => {
        if (err !== underWay) log.warn({ err }, 'The last use of an API key was not recorded');
      });
  };
}

/**
 * Replaces the HMAC of a secret that was verified with an older pepper. Returns immediately, and never
 * throws.
 */
type RenewHmac = (
  apiKey: string,
  apiSecret: string,
  holder: Pick<KeyHolder, 'pepperId' | 'secretHmac'>,
) => void;

/**
 * Moves HMACs to the newest pepper. A secret is known only while a request has it, so each HMAC is renewed when its
 * key is used. No request waits for it. An error is logged, and the next use tries again. If the key changes at the
 * same time, such as by a rotation, the other change is kept.
 *
 * @param deps.pepper API_SECRET_PEPPER
 */
export function createRenewHmac(deps: { sql: Sql; pepper: string; log: Logger }): RenewHmac {
  const { sql, pepper, log } = deps;
  const [newestId] = pepperIdsOf(pepper);
  return (apiKey, apiSecret, { pepperId, secretHmac: verified }) => {
    if (pepperId === newestId) return;
    const renewed = storedSecretOf(pepper, apiSecret);
    sql`
      UPDATE api_keys SET secret_hmac = ${renewed.secretHmac}, pepper_id = ${renewed.pepperId}
      WHERE api_key = ${apiKey} AND secret_hmac = ${verified}`.catch((err: unknown) =>
      log.warn({ err }, 'The HMAC of an API secret was not renewed'),
    );
  };
}
