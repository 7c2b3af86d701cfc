import { expect } from 'vitest';
import type { Delivery } from '../../src/webhooks/lists/delivery-list.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const test = serviceTest({ time: 'real' });

/** A merchant with a number of orders; the first webhook of each was refused once. */
async function merchantWithRefusals(service: TestService, cli: AdminCli, count: number) {
  const merchant = await service.newMerchant();
  merchant.receiver.answerWith(() => 500);
  for (let index = 0; index < count; index += 1) await merchant.sandbox.create();
  const list = (...options: string[]) =>
    cli.json<Delivery[]>('delivery', 'list', '--merchant', merchant.merchantId, ...options);
  await until(async () => {
    const [row] = await service.sql<{ attempts: number }[]>`
      SELECT count(*) AS attempts FROM webhook_attempts a JOIN webhook_deliveries USING (delivery_id)
      WHERE a.merchant_id = ${merchant.merchantId}`;
    return row?.attempts === count;
  });
  return { ...merchant, list };
}

test('the list has every delivery with its attempts and the time of the next one', async ({
  service,
  cli,
}) => {
  const { list, receiver, sandbox } = await merchantWithRefusals(service, cli, 1);
  receiver.answerWith(() => 204);
  const second = await sandbox.create();
  await until(async () => (await list('--state', 'DELIVERED')).length === 1);
  const [newest, oldest, ...others] = await list();
  expect(others).toEqual([]);
  expect(newest).toEqual({
    deliveryId: expect.stringMatching(/^dlv_/),
    eventId: expect.stringMatching(/^evt_/),
    orderNumber: second.order_number,
    event: 'ORDER_CREATED',
    merchantId: expect.stringMatching(/^mer_/),
    environment: 'sandbox',
    state: 'DELIVERED',
    nextAttemptAt: null,
    createdAt: expect.stringMatching(ISO),
    attempts: [
      {
        at: expect.stringMatching(ISO),
        url: receiver.url,
        statusCode: 204,
        durationMs: expect.any(Number),
        error: null,
        kind: 'scheduled',
      },
    ],
  });
  expect(oldest).toMatchObject({
    state: 'PENDING',
    attempts: [{ statusCode: 500, error: 'answered 500' }],
  });
  // JSON has times as texts.
  const msOf = (at: unknown) => Date.parse(String(at));
  const waitMs = msOf(oldest?.nextAttemptAt) - msOf(oldest?.attempts[0]?.at);
  expect(waitMs).toBeGreaterThanOrEqual(300_000);
  // The attempt itself takes some of it; after the second attempt it would be half an hour.
  expect(waitMs).toBeLessThan(1_800_000);
});

test('the list can be filtered by order, environment and state, and limited', async ({
  service,
  cli,
}) => {
  const { list, merchantId } = await merchantWithRefusals(service, cli, 3);
  const all = await list();
  expect(all).toHaveLength(3);
  const [newest] = all;
  expect(await list('--limit', '1')).toEqual([newest]);
  expect(await list('--order', newest?.orderNumber ?? '')).toEqual([newest]);
  expect(await list('--environment', 'production')).toEqual([]);
  expect(await list('--state', 'FAILED')).toEqual([]);
  const { stdout } = await cli.run('delivery', 'list', '--merchant', merchantId);
  expect(stdout.split('\n')[0]).toMatch(
    /^DELIVERY ID +ORDER NUMBER +EVENT +STATE +ATTEMPTS +LAST ATTEMPT +NEXT ATTEMPT AT/,
  );
  expect(stdout).toContain('answered 500');
  expect(await cli.misuse('delivery', 'list', '--limit', '0')).toContain('--limit must be');
});

test('one delivery is shown with the responses, escaped for the terminal', async ({
  service,
  cli,
}) => {
  const { list, receiver } = await merchantWithRefusals(service, cli, 1);
  const [listed] = await list();
  const show = ['delivery', 'show', '--delivery', listed?.deliveryId ?? ''];
  const [attempt] = listed?.attempts ?? [];
  expect(await cli.json(...show)).toEqual({ ...listed, attempts: [{ ...attempt, answer: 'ok' }] });
  const answer = Buffer.from('<b>down</b>\n\u001b[2Jfor a while');
  await service.sql`
    UPDATE webhook_attempts SET response_body = ${answer}
    WHERE delivery_id = ${listed?.deliveryId ?? ''}`;
  const { stdout } = await cli.run(...show);
  expect(stdout).toMatch(/^State +PENDING$/m);
  expect(stdout).toContain(`scheduled ${receiver.url}: answered 500 (`);
  expect(stdout).toContain('\n  <b>down</b>\n  \u{FFFD}[2Jfor a while\n');
  expect(await cli.refusal('delivery', 'show', '--delivery', 'dlv_none')).toBe(
    'Delivery not found: dlv_none',
  );
});

test('a retry prints its result, exits with 1 if it is refused, and is listed as manual', async ({
  service,
  cli,
}) => {
  const { list, receiver } = await merchantWithRefusals(service, cli, 1);
  const [{ deliveryId } = { deliveryId: '' }] = await list();
  const retry = ['delivery', 'retry', '--delivery', deliveryId];
  expect(await cli.jsonOfFailure(...retry)).toEqual({
    deliveryId,
    outcome: 'refused',
    reason: 'answered 500',
  });
  receiver.answerWith(() => 200);
  expect((await cli.run(...retry)).stdout).toBe('The endpoint accepted it: DELIVERED.\n');
  const [delivery] = await list();
  expect(delivery).toMatchObject({ state: 'DELIVERED', nextAttemptAt: null });
  expect(delivery?.attempts.map(({ kind, statusCode }) => [kind, statusCode])).toEqual([
    ['scheduled', 500],
    ['manual', 500],
    ['manual', 200],
  ]);
  expect(await cli.refusal('delivery', 'retry', '--delivery', 'dlv_none')).toBe(
    'Delivery not found: dlv_none',
  );
});

test('what has failed since a time is sent again, also while it is PENDING, a few at once', async ({
  service,
  cli,
}) => {
  const { list, receiver, merchantId, sandbox } = await merchantWithRefusals(service, cli, 6);
  receiver.answerWith(() => 200);
  await sandbox.create();
  await until(async () => (await list('--state', 'DELIVERED')).length === 1);
  await service.sql`
    UPDATE webhook_deliveries SET state = 'FAILED', settled_at = clock_timestamp()
    WHERE delivery_id = ${(await list('--state', 'PENDING'))[0]?.deliveryId ?? ''}`;
  const retry = ['delivery', 'retry-failed', '--merchant', merchantId, '--since'];
  const later = new Date(Date.now() + 60_000).toISOString();
  expect(await cli.json(...retry, later)).toEqual([]);
  const start = '2026-01-01T00:00:00Z';
  expect(await cli.json(...retry, start, '--environment', 'production')).toEqual([]);
  const held = Promise.withResolvers<number>();
  receiver.answerWith(() => held.promise);
  const endpoint = { merchantId, environment: 'sandbox' };
  expect(await cli.json(...retry, start)).toEqual([{ ...endpoint, deliveries: 6, reason: null }]);
  await receiver.until(7 + 4);
  const reason = 'Webhooks are being sent again already: wait for them';
  expect(await cli.jsonOfFailure(...retry, start)).toEqual([
    { ...endpoint, deliveries: 0, reason },
  ]);
  // Half of an endpoint's slots are left to new webhooks.
  expect(receiver.received).toHaveLength(7 + 4);
  held.resolve(200);
  await until(async () => (await list('--state', 'DELIVERED')).length === 7);
  expect((await list()).map(({ attempts }) => attempts.length)).toEqual([1, 2, 2, 2, 2, 2, 2]);
  expect(await cli.misuse(...retry, 'yesterday')).toContain(
    '--since must be a time like 2026-11-20T08:00:00Z',
  );
});
