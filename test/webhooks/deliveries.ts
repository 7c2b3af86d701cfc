import { secondsOf } from '../../src/temporal/client.ts';
import { createDeliveryRetries } from '../../src/temporal/delivery-retries.ts';
import type { Delivery } from '../../src/webhooks/lists/delivery-list.ts';
import { listDeliveries } from '../../src/webhooks/lists/delivery-list.ts';
import type { ManualRetryDeps } from '../../src/webhooks/resend/manual-retry.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

export function retryDepsOf({ sql, temporal }: TestService): ManualRetryDeps {
  return { sql, retries: createDeliveryRetries(temporal.client), actor: TEST_ACTOR };
}

/** The deliveries of an order, the oldest first. */
export async function deliveriesOf({ sql }: TestService, orderNumber: string): Promise<Delivery[]> {
  return (await listDeliveries(sql, { orderNumber }, 100)).toReversed();
}

/** The order's first delivery, once it satisfies a condition. */
export function untilDelivery(
  service: TestService,
  orderNumber: string,
  matches: (delivery: Delivery) => boolean,
): Promise<Delivery> {
  return until(async () => {
    const [delivery] = await deliveriesOf(service, orderNumber);
    return delivery && matches(delivery) ? delivery : undefined;
  });
}

/**
 * Waits until `attempts` attempts of each open delivery of an order have failed, and Temporal waits for the next ones:
 * time that is skipped earlier would not bring them nearer. No delivery may have been ended by hand meanwhile.
 */
export async function untilTemporalWaits(
  { sql, temporal }: TestService,
  orderNumber: string,
  attempts: number,
): Promise<void> {
  const handle = temporal.client.workflow.getHandle(orderNumber);
  await until(async () => {
    const open = await sql<{ failedAttempts: number }[]>`
      SELECT failed_attempts FROM webhook_deliveries JOIN order_events USING (event_id)
      WHERE order_number = ${orderNumber} AND state = 'PENDING'`;
    if (!open.every(({ failedAttempts }) => failedAttempts >= attempts)) return false;
    const activities = (await handle.describe()).raw.pendingActivities ?? [];
    // The server that skips time calls one that waits `started`, too.
    const waiting = activities.filter(
      ({ activityType, lastFailure, lastStartedTime, lastAttemptCompleteTime }) =>
        activityType?.name === 'sendWebhook' &&
        lastFailure &&
        secondsOf(lastAttemptCompleteTime) >= secondsOf(lastStartedTime),
    );
    return waiting.length > 0 && waiting.length === open.length;
  });
}

/** The order's first delivery, once the given number of scheduled attempts has been refused. */
export async function untilRefused(
  service: TestService,
  orderNumber: string,
  count: number,
): Promise<Delivery> {
  await untilTemporalWaits(service, orderNumber, count);
  return untilDelivery(service, orderNumber, ({ attempts }) => attempts.length >= count);
}

/** The result of an attempt in short: `manual 500`. */
export function attemptsOf({ attempts }: Delivery): string[] {
  return attempts.map(({ kind, statusCode }) => `${kind} ${statusCode}`);
}

export async function aRefusingMerchant(service: TestService): Promise<Merchant> {
  const merchant = await service.newMerchant();
  merchant.receiver.answerWith(() => 500);
  return merchant;
}
