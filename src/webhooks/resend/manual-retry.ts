import type { ManualAttemptResult } from '../../contracts/activities.ts';
import type { Actor } from '../../db/actor.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { admitSend } from '../../merchants/public.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import type { OrderOwner } from '../../orders/public.ts';
import { findEvent } from '../events/event-list.ts';
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

const NO_URL = 'No webhook URL is configured: set one, then retry';

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
 * Does as {@link retryDelivery} for a merchant, whose retries are limited.
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

/**
 * Makes one attempt of an event now, whatever the state of its delivery. An event that was never sent, because no
 * URL was set, gets a delivery.
 *
 * @throws DomainError `NOT_FOUND`; `INVALID_STATE` without a URL or while an attempt is in progress
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function resendEvent(
  deps: ManualRetryDeps,
  owner: OrderOwner,
  eventId: string,
): Promise<void> {
  const { delivery } = await findEvent(deps.sql, owner, eventId);
  const deliveryId = delivery?.deliveryId ?? (await addDelivery(deps.sql, eventId));
  // The response does not wait for the attempt.
  await retryForMerchant(deps, owner.merchantId, { deliveryId, waitMs: 0 });
}

/**
 * Adds a delivery that is FAILED, so that only attempts by hand are made. The lock makes it wait for an erasure in
 * progress, which marks the deliveries of its order.
 *
 * @throws DomainError `INVALID_STATE` without a URL
 */
async function addDelivery(sql: Sql, eventId: string): Promise<string> {
  const deliveryId = eventId.replace(/^evt_/, 'dlv_');
  const added = await sql`
    INSERT INTO webhook_deliveries
      (delivery_id, event_id, merchant_id, environment, event_type, state, settled_at)
    SELECT ${deliveryId}, event_id, merchant_id, environment, type, 'FAILED', clock_timestamp()
    FROM (
      SELECT e.event_id, e.type, o.merchant_id, o.environment
      FROM order_events e JOIN shared.orders o USING (order_number)
      WHERE e.event_id = ${eventId} AND o.erased_at IS NULL
      FOR KEY SHARE OF o
    ) AS event
    JOIN shared.merchant_environments m USING (merchant_id, environment)
    WHERE m.webhook_url IS NOT NULL
    ON CONFLICT (event_id) DO UPDATE SET event_id = EXCLUDED.event_id
    RETURNING delivery_id`;
  if (added.length === 0) throw new DomainError('INVALID_STATE', NO_URL);
  return deliveryId;
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
