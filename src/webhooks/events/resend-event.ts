import type { Sql } from '../../db/client.ts';
import type { ManualRetryDeps } from '../resend/manual-retry.ts';
import { NO_URL, retryForMerchant } from '../resend/manual-retry.ts';
import { DomainError } from '../../domain/index.ts';
import type { EventOwner } from './event-list.ts';
import { findEvent } from './event-list.ts';

/** The response does not wait for the attempt. */
const WAIT_MS = 0;

/**
 * Makes one attempt of an event now, whatever the state of its delivery. An event that was never sent, because no
 * URL was set, gets a delivery.
 *
 * @throws DomainError `NOT_FOUND`; `INVALID_STATE` without a URL or while an attempt is in progress
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function resendEvent(
  deps: ManualRetryDeps,
  owner: EventOwner,
  eventId: string,
): Promise<void> {
  const { delivery } = await findEvent(deps.sql, owner, eventId);
  const deliveryId = delivery?.deliveryId ?? (await addDelivery(deps.sql, eventId));
  await retryForMerchant(deps, owner.merchantId, { deliveryId, waitMs: WAIT_MS });
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
