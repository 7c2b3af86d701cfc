import { createHmac } from 'node:crypto';
import { describe, expect } from 'vitest';
import { WEBHOOK_RETRY_DELAYS_MS } from '../../src/domain/index.ts';
import { attemptManually, attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import type { Delivery } from '../../src/webhooks/lists/delivery-list.ts';
import { removeWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import { retryDelivery } from '../../src/webhooks/resend/manual-retry.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { auditOf } from '../support/audit.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import type { ReceivedWebhook } from '../support/webhook-receiver.ts';
import {
  aRefusingMerchant,
  attemptsOf,
  deliveriesOf,
  retryDepsOf,
  untilDelivery,
  untilRefused,
} from './deliveries.ts';

const MINUTE_MS = 60_000;

const test = serviceTest({ time: 'skipping' }).extend('deps', { scope: 'file' }, ({ service }) =>
  retryDepsOf(service),
);

/** An order whose first webhook was refused once; its receiver still refuses. */
async function refusedDelivery(service: TestService) {
  const merchant = await aRefusingMerchant(service);
  const { order_number: orderNumber } = await merchant.sandbox.create();
  return { ...merchant, ...(await untilRefused(service, orderNumber, 1)) };
}

const again = async (service: TestService, orderNumber: string): Promise<Delivery> =>
  untilDelivery(service, orderNumber, () => true);

const isSigned = ({ headers, rawBody }: ReceivedWebhook, secret: string): boolean =>
  createHmac('sha256', secret)
    .update(`${String(headers['x-service-timestamp'])}.${rawBody}`)
    .digest('hex') === headers['x-service-signature'];

async function failForGood(service: TestService, orderNumber: string): Promise<Delivery> {
  for (const [index, delayMs] of WEBHOOK_RETRY_DELAYS_MS.entries()) {
    await untilRefused(service, orderNumber, index + 1);
    await service.skip(delayMs + 1000);
  }
  return untilDelivery(service, orderNumber, ({ state }) => state === 'FAILED');
}

describe('a manual retry that the receiver accepts', () => {
  test('makes the delivery DELIVERED, and the waiting schedule ends at its next attempt', async ({
    service,
    deps,
  }) => {
    const { receiver, sandbox, orderNumber, deliveryId } = await refusedDelivery(service);
    receiver.answerWith(() => 200);
    expect(await retryDelivery(deps, deliveryId)).toEqual({ outcome: 'delivered' });
    expect(await again(service, orderNumber)).toMatchObject({
      state: 'DELIVERED',
      nextAttemptAt: null,
    });
    await sandbox.post(`/orders/${orderNumber}/cancel`);
    await service.skip(5 * MINUTE_MS + 1000);
    await service.temporal.client.workflow.getHandle(orderNumber).result();
    const delivery = await again(service, orderNumber);
    expect(attemptsOf(delivery)).toEqual(['scheduled 500', 'manual 200']);
    expect(receiver.received.filter(({ event }) => event === 'ORDER_CREATED')).toHaveLength(2);
  });

  test('sends the same event and bytes with a new signature', async ({ service, deps }) => {
    const { receiver, webhookSecret, deliveryId, eventId } = await refusedDelivery(service);
    receiver.answerWith(() => 200);
    await retryDelivery(deps, deliveryId);
    const [first, second] = receiver.received;
    expect(second?.rawBody).toBe(first?.rawBody);
    expect(second?.headers['x-service-event-id']).toBe(eventId);
    expect(second && isSigned(second, webhookSecret)).toBe(true);
  });

  test('works for a FAILED delivery, and again for a DELIVERED one', async ({ service, deps }) => {
    const { receiver, orderNumber, deliveryId } = await refusedDelivery(service);
    expect(attemptsOf(await failForGood(service, orderNumber))).toHaveLength(5);
    receiver.answerWith(() => 200);
    expect(await retryDelivery(deps, deliveryId)).toEqual({ outcome: 'delivered' });
    expect((await again(service, orderNumber)).state).toBe('DELIVERED');
    receiver.answerWith(() => 503);
    const refused = { outcome: 'refused', reason: 'answered 503' };
    expect(await retryDelivery(deps, deliveryId)).toEqual(refused);
    const delivery = await again(service, orderNumber);
    expect(delivery.state).toBe('DELIVERED');
    expect(attemptsOf(delivery).slice(5)).toEqual(['manual 200', 'manual 503']);
  });
});

describe('a manual retry that the receiver refuses', () => {
  test('changes nothing and is not one of the five', async ({ service, deps }) => {
    const { orderNumber, deliveryId, nextAttemptAt } = await refusedDelivery(service);
    const refused = { outcome: 'refused', reason: 'answered 500' };
    expect(await retryDelivery(deps, deliveryId)).toEqual(refused);
    expect(await again(service, orderNumber)).toMatchObject({ state: 'PENDING', nextAttemptAt });
    const delivery = await failForGood(service, orderNumber);
    expect(attemptsOf(delivery).filter((one) => one === 'scheduled 500')).toHaveLength(5);
    expect(attemptsOf(delivery).filter((one) => one === 'manual 500')).toHaveLength(1);
    expect(await retryDelivery(deps, deliveryId)).toEqual(refused);
    expect((await again(service, orderNumber)).state).toBe('FAILED');
  });
});

describe('never two attempts of one delivery at the same time', () => {
  test('a retry is refused while a scheduled attempt runs', async ({ service, deps }) => {
    const merchant = await service.newMerchant();
    const { promise: answer, resolve: answerNow } = Promise.withResolvers<number>();
    merchant.receiver.answerWith(() => answer);
    const { order_number: orderNumber } = await merchant.sandbox.create();
    await merchant.receiver.until(1);
    const [{ deliveryId } = { deliveryId: '' }] = await deliveriesOf(service, orderNumber);
    await expect(retryDelivery(deps, deliveryId)).rejects.toThrow(
      `An attempt of ${deliveryId} is under way`,
    );
    answerNow(200);
    await untilDelivery(service, orderNumber, ({ state }) => state === 'DELIVERED');
    expect(merchant.receiver.received).toHaveLength(1);
  });

  test('of two concurrent retries one is refused, and a scheduled attempt waits', async ({
    service,
    deps,
  }) => {
    const { receiver, orderNumber, deliveryId } = await refusedDelivery(service);
    const { promise: answer, resolve: answerNow } = Promise.withResolvers<number>();
    receiver.answerWith(() => answer);
    const first = retryDelivery(deps, deliveryId);
    await receiver.until(2);
    await expect(retryDelivery(deps, deliveryId)).rejects.toThrow('is under way');
    expect(await attemptManually(service.deps, deliveryId)).toEqual({ outcome: 'running' });
    expect(await attemptScheduled(service.deps, deliveryId)).toMatchObject({
      outcome: 'postponed',
    });
    answerNow(500);
    expect(await first).toMatchObject({ outcome: 'refused' });
    expect(receiver.received).toHaveLength(2);
    expect((await again(service, orderNumber)).attempts).toHaveLength(2);
  });

  test('twenty concurrent retries make one attempt', async ({ service, deps }) => {
    const { receiver, orderNumber, deliveryId } = await refusedDelivery(service);
    const { promise: answer, resolve: answerNow } = Promise.withResolvers<number>();
    receiver.answerWith(() => answer);
    const retries = Array.from({ length: 20 }, () => retryDelivery(deps, deliveryId));
    const settled = Promise.allSettled(retries);
    await receiver.until(2);
    answerNow(200);
    const fulfilled = (await settled).filter(({ status }) => status === 'fulfilled');
    expect(fulfilled.length).toBeGreaterThanOrEqual(1);
    expect((await again(service, orderNumber)).attempts).toHaveLength(1 + fulfilled.length);
  });
});

describe('a retry that cannot be sent', () => {
  test('is refused until a URL is configured again', async ({ service, deps }) => {
    const { receiver, merchantId, orderNumber, deliveryId } = await refusedDelivery(service);
    const admin = { sql: service.sql, actor: TEST_ACTOR };
    await removeWebhookUrl(admin, merchantId, 'sandbox');
    await expect(retryDelivery(deps, deliveryId)).rejects.toThrow('No webhook URL is configured');
    expect(await attemptManually(service.deps, deliveryId)).toEqual({ outcome: 'no_url' });
    expect((await again(service, orderNumber)).attempts).toHaveLength(1);
    receiver.answerWith(() => 200);
    await service.sql`
      UPDATE merchant_environments SET webhook_url = ${receiver.url}
      WHERE merchant_id = ${merchantId}`;
    expect(await retryDelivery(deps, deliveryId)).toEqual({ outcome: 'delivered' });
  });

  test('is refused for a delivery that does not exist, here and in the workflow', async ({
    deps,
  }) => {
    await expect(retryDelivery(deps, 'dlv_none')).rejects.toThrow('Delivery not found: dlv_none');
    await expect(deps.retries.retry('dlv_none', 20_000)).rejects.toThrow();
  });
});

test('each retry writes an audit row, a refused one does not', async ({ service, deps }) => {
  const { merchantId, receiver, deliveryId } = await refusedDelivery(service);
  await retryDelivery(deps, deliveryId);
  await removeWebhookUrl({ sql: service.sql, actor: TEST_ACTOR }, merchantId, 'sandbox');
  await expect(retryDelivery(deps, deliveryId)).rejects.toThrow();
  const audit = await auditOf(service.sql, merchantId);
  expect(audit.filter(({ action }) => action === 'delivery.retry')).toEqual([
    expect.objectContaining({ actor: TEST_ACTOR.name, subject: deliveryId, details: {} }),
  ]);
  expect(receiver.received).toHaveLength(2);
});
