import { createHmac } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import type { Timeline } from '../../src/orders/steps/timeline-presenter.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import type { ReceivedWebhook } from '../support/webhook-receiver.ts';
import { untilTemporalWaits } from '../webhooks/deliveries.ts';

const SECOND_MS = 1000;
/** Seconds from an event to each of its five attempts, with delays of 0, 5 m, 30 m, 2 h and 12 h. */
const SCHEDULE = [0, 300, 2100, 9300, 52_500];
const TOLERANCE_SECONDS = 2;
/** How much more time is skipped than the wait before an attempt. */
const MORE_SECONDS = 1;

const test = serviceTest({ time: 'skipping' });

const isOf = (order: Order, event: string) => (webhook: ReceivedWebhook) =>
  webhook.event === event && webhook.body.data['order_number'] === order.order_number;

async function untilAllAttempts(
  service: TestService,
  { receiver }: Merchant,
  order: Order,
  event: string,
) {
  const matches = isOf(order, event);
  for (const [index, seconds] of SCHEDULE.entries()) {
    const previous = SCHEDULE[index - 1] ?? 0;
    if (seconds > 0) {
      await untilTemporalWaits(service, order.order_number, index);
      await service.skip((seconds - previous + MORE_SECONDS) * SECOND_MS);
    }
    await receiver.until(index + 1, matches);
  }
  return receiver.received.filter(matches);
}

async function entryOf({ sandbox }: Merchant, order: Order, kind: string) {
  const { body } = await sandbox.get<Timeline>(`/orders/${order.order_number}/timeline`);
  return body.data.entries.find((entry) => entry.kind === kind);
}
const stateOf = async (merchant: Merchant, order: Order, kind: string) =>
  (await entryOf(merchant, order, kind))?.webhook?.delivery?.state;

/** A new order of a merchant whose receiver answers 500 from now on. */
async function createWhileRefusing({ receiver, sandbox }: Merchant) {
  receiver.answerWith(() => 500);
  return sandbox.create();
}

describe('a webhook whose receiver refuses', () => {
  let order: Order;
  let attempts: ReceivedWebhook[];
  /** When the attempts began and had ended, in real time, which passes on the skipped clock, too. */
  let startedAtMs: number;
  let endedAtMs: number;

  test.beforeAll(async ({ service, merchant }) => {
    startedAtMs = Date.now();
    merchant.receiver.answerWith(({ event }) => (event === 'ORDER_CREATED' ? 503 : 200));
    order = await merchant.sandbox.create();
    await merchant.receiver.until(1, isOf(order, 'ORDER_CREATED'));
    // The order continues meanwhile.
    await merchant.sandbox.help(order, 'pay');
    await merchant.receiver.until(1, isOf(order, 'PAYMENT_SUCCESS'));
    attempts = await untilAllAttempts(service, merchant, order, 'ORDER_CREATED');
    endedAtMs = Date.now();
  });

  test('is attempted after 0 s, 300 s, 2,100 s, 9,300 s and 52,500 s', () => {
    const [first] = attempts;
    const seconds = attempts.map(({ at }) => (at - first!.at) / SECOND_MS);
    const realSeconds = (endedAtMs - startedAtMs) / SECOND_MS;
    expect(seconds).toHaveLength(SCHEDULE.length);
    for (const [index, expected] of SCHEDULE.entries()) {
      expect(seconds[index]).toBeGreaterThanOrEqual(expected - TOLERANCE_SECONDS);
      const moreSeconds = realSeconds + index * MORE_SECONDS + TOLERANCE_SECONDS;
      expect(seconds[index]).toBeLessThanOrEqual(expected + moreSeconds);
    }
  });

  test('is marked FAILED after the fifth attempt and never attempted again', async ({
    service,
    merchant,
  }) => {
    await until(async () => (await stateOf(merchant, order, 'ORDER_CREATED')) === 'FAILED');
    await service.skip(7 * 24 * 3600 * SECOND_MS);
    expect((await entryOf(merchant, order, 'ORDER_CREATED'))?.webhook?.delivery).toEqual({
      state: 'FAILED',
      attempts: 5,
      next_attempt_at: null,
    });
    expect(merchant.receiver.received.filter(isOf(order, 'ORDER_CREATED'))).toHaveLength(5);
  });

  test('does not delay the next event, which arrived immediately', async ({ merchant }) => {
    const paid = merchant.receiver.received.find(isOf(order, 'PAYMENT_SUCCESS'));
    const [first, second] = attempts;
    expect(paid!.at).toBeGreaterThanOrEqual(first!.at);
    expect(paid!.at).toBeLessThan(second!.at);
    expect(await stateOf(merchant, order, 'PAYMENT_SUCCESS')).toBe('DELIVERED');
  });

  test('sends the same bytes at each attempt, though the order has changed meanwhile', () => {
    expect(new Set(attempts.map(({ rawBody }) => rawBody)).size).toBe(1);
    expect(attempts[4]?.body.data).toMatchObject({ status: 'ACCEPTED' });
    expect(new Set(attempts.map(({ headers }) => headers['x-service-event-id']))).toEqual(
      new Set([attempts[0]?.body.event_id]),
    );
  });

  test('carries a valid signature and the time of sending at each attempt', ({ merchant }) => {
    for (const { headers, rawBody } of attempts) {
      const timestamp = String(headers['x-service-timestamp']);
      const expected = createHmac('sha256', merchant.webhookSecret)
        .update(`${timestamp}.${rawBody}`)
        .digest('hex');
      expect(headers['x-service-signature']).toBe(expected);
      expect(headers['x-service-event']).toBe('ORDER_CREATED');
      expect(headers['content-type']).toBe('application/json');
      // Sent at the real time of this test, independent of the skipped time.
      expect(Number(timestamp)).toBeGreaterThanOrEqual(Math.floor(startedAtMs / SECOND_MS));
      expect(Number(timestamp)).toBeLessThanOrEqual(Math.ceil(endedAtMs / SECOND_MS));
    }
  });

  test('keeps the workflow of a finished order open until its attempts are over', async ({
    service,
    merchant,
  }) => {
    const cancelled = await createWhileRefusing(merchant);
    // The hand-over may come as the cancel would end the workflow: then the answer is 500.
    expect((await merchant.sandbox.cancel(cancelled)).status).toBe(200);
    await untilAllAttempts(service, merchant, cancelled, 'ORDER_CANCELLED');
    const workflow = service.temporal.client.workflow.getHandle(cancelled.order_number);
    expect(await workflow.result()).toMatchObject({ status: 'CANCELLED', webhookEvents: 2 });
    expect(await stateOf(merchant, cancelled, 'ORDER_CANCELLED')).toBe('FAILED');
  });

  test('is not attempted again after its first success, whichever attempt that is', async ({
    service,
    merchant,
  }) => {
    const lucky = await createWhileRefusing(merchant);
    await untilTemporalWaits(service, lucky.order_number, 1);
    await service.skip(301 * SECOND_MS);
    await untilTemporalWaits(service, lucky.order_number, 2);
    merchant.receiver.answerWith(() => 204);
    await service.skip(1801 * SECOND_MS);
    await until(async () => (await stateOf(merchant, lucky, 'ORDER_CREATED')) === 'DELIVERED');
    await service.skip(24 * 3600 * SECOND_MS);
    expect(merchant.receiver.received.filter(isOf(lucky, 'ORDER_CREATED'))).toHaveLength(3);
  });
});
