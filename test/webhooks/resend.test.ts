import { expect } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import { removeWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import type { ResendDeps } from '../../src/webhooks/resend/resend.ts';
import { latestResend } from '../../src/webhooks/resend/resend-progress.ts';
import { resendSelected, resendSince } from '../../src/webhooks/resend/resend.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { auditOf } from '../support/audit.ts';
import type { Merchant } from '../support/merchant.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { UNTIL_MS } from '../support/time-limits.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const LONG_AGO = new Date(0);
/** More than a page of a hundred. */
const COUNT = 110;

// A worker that stops finishes its attempts, as in production: none is left to a time-out.
const test = serviceTest({
  time: 'real',
  worker: { options: { shutdownGraceTime: UNTIL_MS } },
}).extend('deps', { scope: 'file' }, ({ service: { deps, log, sql } }): ResendDeps => ({
  sql,
  log,
  retries: deps.retries,
  actor: TEST_ACTOR,
}));

const ownerOf = ({ merchantId }: Merchant) => ({ merchantId, environment: 'sandbox' as const });

/** A merchant with orders whose first webhooks have had no attempt. */
async function aMerchantWithDeliveries(service: TestService, count: number) {
  const merchant = await service.newMerchant();
  await Promise.all(Array.from({ length: count }, () => writeOrder(service, merchant)));
  const rows = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries WHERE merchant_id = ${merchant.merchantId}
    ORDER BY delivery_id`;
  return {
    merchant,
    owner: ownerOf(merchant),
    deliveryIds: rows.map(({ deliveryId }) => deliveryId),
  };
}

const untilFinished = (service: TestService, merchant: Merchant) =>
  until(async () => {
    const resend = await latestResend(service.sql, ownerOf(merchant));
    return resend?.finishedAt ? resend : undefined;
  });

async function statesOf({ sql }: TestService, { merchantId }: Merchant) {
  const rows = await sql<{ state: string; kinds: string[] }[]>`
    SELECT state, ARRAY(SELECT kind::text FROM webhook_attempts a
      WHERE a.delivery_id = d.delivery_id ORDER BY attempt_id) AS kinds
    FROM webhook_deliveries d WHERE merchant_id = ${merchantId} ORDER BY delivery_id`;
  return rows.map(({ state, kinds }) => [state, ...kinds].join(' '));
}

test('all that have not arrived since a time are sent again, also those without an attempt', async ({
  service,
  deps,
}) => {
  const { merchant, owner, deliveryIds } = await aMerchantWithDeliveries(service, 5);
  const [delivered = '', refused = '', failedBefore = '', failed = ''] = deliveryIds;
  await attemptScheduled(service.deps, delivered);
  merchant.receiver.answerWith(() => 500);
  await attemptScheduled(service.deps, refused);
  const now = Date.now();
  for (const [deliveryId, settledAt] of [
    [failedBefore, now - 2 * HOUR_MS],
    [failed, now],
  ] as const) {
    await service.sql`
      UPDATE webhook_deliveries SET state = 'FAILED', settled_at = ${new Date(settledAt)}
      WHERE delivery_id = ${deliveryId}`;
  }
  merchant.receiver.answerWith(() => 200);
  expect(await resendSince(deps, owner, new Date(now + HOUR_MS))).toBe(0);
  expect(await resendSince(deps, owner, new Date(now - HOUR_MS))).toBe(3);
  expect(await untilFinished(service, merchant)).toMatchObject({
    total: 3,
    left: 0,
    delivered: 3,
    refused: 0,
    stopCause: null,
  });
  expect(await statesOf(service, merchant)).toEqual([
    'DELIVERED scheduled',
    'DELIVERED scheduled manual',
    'FAILED',
    'DELIVERED manual',
    'DELIVERED manual',
  ]);
  const audit = await auditOf(service.sql, merchant.merchantId);
  expect(audit.filter(({ action }) => action === 'delivery.resend')).toMatchObject([
    { details: { environment: 'sandbox', deliveries: 3 } },
  ]);
});

test('a selection is sent again in any state, and only if all of it is the merchant’s', async ({
  service,
  deps,
}) => {
  const { merchant, owner, deliveryIds } = await aMerchantWithDeliveries(service, 3);
  const other = await aMerchantWithDeliveries(service, 1);
  await attemptScheduled(service.deps, deliveryIds[0] ?? '');
  const [foreign = ''] = other.deliveryIds;
  const two = deliveryIds.slice(0, 2);
  await expect(resendSelected(deps, owner, [...two, foreign])).rejects.toThrow(
    `Delivery not found: ${foreign}`,
  );
  await expect(resendSelected(deps, owner, [])).rejects.toThrow('Choose at least one webhook');
  const tooMany = Array.from({ length: 101 }, (_, index) => `dlv_${index}`);
  await expect(resendSelected(deps, owner, tooMany)).rejects.toThrow('At most 100 webhooks');
  expect(await resendSelected(deps, owner, [...two, ...two])).toBe(2);
  await untilFinished(service, merchant);
  expect(await statesOf(service, merchant)).toEqual([
    'DELIVERED scheduled manual',
    'DELIVERED manual',
    'PENDING',
  ]);
});

test('more than a page is sent four at a time, each once, while the worker restarts', async ({
  service,
  worker,
  deps,
}) => {
  const { merchant, owner, deliveryIds } = await aMerchantWithDeliveries(service, COUNT);
  let underWay = 0;
  let most = 0;
  const stopping = Promise.withResolvers<void>();
  merchant.receiver.answerWith(async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    // The worker stops in the middle of the list.
    await (merchant.receiver.received.length < 20 ? new Promise(setImmediate) : stopping.promise);
    underWay -= 1;
    return 200;
  });
  expect(await resendSince(deps, owner, LONG_AGO)).toBe(COUNT);
  await expect(resendSince(deps, owner, LONG_AGO)).rejects.toThrow(
    'Webhooks are being sent again already: wait for them',
  );
  await merchant.receiver.until(20);
  const stopped = worker.stop();
  stopping.resolve();
  await stopped;
  const { left } = (await latestResend(service.sql, owner)) ?? { left: 0 };
  expect(left).toBeGreaterThan(0);
  await worker.start();
  expect(await untilFinished(service, merchant)).toMatchObject({ delivered: COUNT, left: 0 });
  expect(most).toBeLessThanOrEqual(4);
  const received = new Set(merchant.receiver.received.map(({ body }) => body.event_id));
  expect(received.size).toBe(COUNT);
  expect(merchant.receiver.received).toHaveLength(COUNT);
  expect(deliveryIds).toHaveLength(COUNT);
});

test('a resend whose process died before its workflow was started is started by the sweep', async ({
  service,
  deps,
}) => {
  const { merchant, owner } = await aMerchantWithDeliveries(service, 2);
  const startResend = () => Promise.reject(new Error('Temporal cannot be reached'));
  expect(await resendSince({ ...deps, retries: { startResend } }, owner, LONG_AGO)).toBe(2);
  expect(await latestResend(service.sql, owner)).toMatchObject({ left: 2, finishedAt: null });
  const { startUnfinishedResends } = createActivities({ ...service.deps, sweepAfterMs: 0 });
  expect(await startUnfinishedResends()).toEqual({ unfinished: 1 });
  expect(await untilFinished(service, merchant)).toMatchObject({ delivered: 2 });
  expect(await startUnfinishedResends()).toEqual({ unfinished: 0 });
});

test('a resend ends when the endpoint refuses a whole page, or its URL is removed', async ({
  service,
  deps,
}) => {
  const { merchant, owner } = await aMerchantWithDeliveries(service, 120);
  merchant.receiver.answerWith(() => 500);
  await resendSince(deps, owner, LONG_AGO);
  expect(await untilFinished(service, merchant)).toMatchObject({
    left: 20,
    refused: 100,
    stopCause: 'endpoint_refuses',
  });
  const { promise: answer, resolve: answerNow } = Promise.withResolvers<number>();
  merchant.receiver.answerWith(() => answer);
  await resendSince(deps, owner, LONG_AGO);
  await merchant.receiver.until(104);
  // The second resend begins with those that the first one has not sent.
  expect(new Set(merchant.receiver.received.map(({ body }) => body.event_id)).size).toBe(104);
  await removeWebhookUrl({ sql: service.sql, actor: TEST_ACTOR }, merchant.merchantId, 'sandbox');
  answerNow(500);
  const resend = await untilFinished(service, merchant);
  expect(resend).toMatchObject({ refused: 4, stopCause: 'no_url' });
  await expect(resendSince(deps, owner, LONG_AGO)).rejects.toThrow('No webhook URL is configured');
});
