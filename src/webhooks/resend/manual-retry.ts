import type { ManualAttemptResult } from '../../contracts/activities.ts';
import type { Actor } from '../../db/actor.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { admitSend } from '../../merchants/public.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import { deliveryErased, deliveryNotFound } from '../lists/delivery-list.ts';

/** Longer than an attempt's 15 s. If no worker runs, `admin` does not wait longer. */
const WAIT_MS = 20_000;

/** `actor` is the name that the audit log records. */
export interface ManualRetryDeps {
  sql: Sql;
  retries: DeliveryRetries;
  actor: Actor;
}

/**
 * `delivered`: the endpoint accepted it. `started`: it is in progress or waits for a worker, in a workflow that
 * completes it. Commands and pages show these words.
 */
export type RetryOutcome =
  | { outcome: 'delivered' | 'started' }
  | Extract<ManualAttemptResult, { outcome: 'refused' }>;

/** The refusal of an attempt by hand without a URL. */
export const NO_URL = 'No webhook URL is configured: set one, then retry';

/**
 * Makes one attempt of a delivery now, whatever its state, in a separate workflow.
 *
 * @param waitMs how long to wait for its result; the attempt continues after that
 * @throws DomainError `NOT_FOUND`; `INVALID_STATE` while an attempt of the delivery is in progress, when no webhook
 * URL is configured, or when the event is erased
 */
export async function retryDelivery(
  deps: ManualRetryDeps,
  deliveryId: string,
  waitMs = WAIT_MS,
): Promise<RetryOutcome> {
  const { isRunning, hasUrl, isErased } = await auditRetry(deps, deliveryId);
  if (isErased) throw deliveryErased(deliveryId);
  if (isRunning) throw attemptUnderWay(deliveryId);
  if (!hasUrl) throw new DomainError('INVALID_STATE', NO_URL);
  const result = await deps.retries.retry(deliveryId, waitMs);
  if (result.outcome === 'running') throw attemptUnderWay(deliveryId);
  if (result.outcome === 'no_url') throw new DomainError('INVALID_STATE', NO_URL);
  return result.outcome === 'accepted' ? { outcome: 'delivered' } : result;
}

/**
 * The same for a merchant, whose retries are limited.
 *
 * @throws as {@link retryDelivery}; HttpRefusal TOO_MANY_REQUESTS
 */
export async function retryForMerchant(
  deps: ManualRetryDeps,
  merchantId: string,
  { deliveryId, waitMs }: { deliveryId: string; waitMs: number },
): Promise<RetryOutcome> {
  await admitSend(deps.sql, merchantId, 'webhook_retry');
  return retryDelivery(deps, deliveryId, waitMs);
}

async function auditRetry(
  { sql, actor }: ManualRetryDeps,
  deliveryId: string,
): Promise<{ isRunning: boolean; hasUrl: boolean; isErased: boolean }> {
  const [row] = await sql<{ isRunning: boolean; hasUrl: boolean; isErased: boolean }[]>`
    WITH delivery AS (
      SELECT d.merchant_id, d.is_erased, coalesce(d.attempt_until > service_now(), false) AS is_running,
        e.webhook_url IS NOT NULL AS has_url
      FROM webhook_deliveries d
      LEFT JOIN shared.merchant_environments e USING (merchant_id, environment)
      WHERE d.delivery_id = ${deliveryId}
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject)
      SELECT ${actor.name}, ${actor.address}, 'delivery.retry', merchant_id, ${deliveryId}
      FROM delivery WHERE has_url AND NOT is_running AND NOT is_erased
    )
    SELECT is_running, has_url, is_erased FROM delivery`;
  if (!row) throw deliveryNotFound(deliveryId);
  return row;
}

function attemptUnderWay(deliveryId: string): DomainError {
  return new DomainError('INVALID_STATE', `An attempt of ${deliveryId} is under way`);
}
