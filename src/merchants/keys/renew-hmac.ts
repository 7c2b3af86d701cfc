import type { Logger } from 'pino';
import type { Sql } from '../../db/client.ts';
import { pepperIdsOf, storedSecretOf } from './credentials.ts';
import type { KeyHolder } from '../queries.ts';

/**
 * Replaces the HMAC of a secret that was verified with an older pepper. Returns immediately, and never
 * throws.
 */
export type RenewHmac = (
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
