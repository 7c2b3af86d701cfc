import type { Logger } from 'pino';
import type { Sql } from '../db/client.ts';
import { pepperIdsOf, storedSecretOf } from './credentials.ts';
import type { KeyHolder } from './queries.ts';

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
 * Creates the renewal of HMACs: a secret is only known while a request has it, so each moves to the
 * newest pepper when it is used. No request waits for it; an error is logged, and the next use tries
 * again. Of two concurrent changes of a key the other one counts, such as a rotation.
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
