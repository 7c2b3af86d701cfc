import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, vi } from 'vitest';
import type { Attempt, AttemptKind, AttemptLog } from '../../src/webhooks/schedule/attempt-log.ts';
import { ATTEMPT_LEASE_MS } from '../../src/domain/index.ts';
import { createAttemptLog } from '../../src/webhooks/schedule/attempt-log.ts';
import { attemptManually, attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import type { Merchant } from '../support/merchant.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', worker: false })
  .extend('attemptLog', { scope: 'file' }, ({ service }) => createAttemptLog(service.sql))
  .extend('deliveryIds', { scope: 'file' }, ({ service, merchant }) =>
    someDeliveries(service, merchant),
  );

/** The deliveries of 32 orders, without any attempt. */
async function someDeliveries(service: TestService, merchant: Merchant): Promise<string[]> {
  await Promise.all(Array.from({ length: 32 }, () => writeOrder(service, merchant)));
  const rows = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries`;
  return rows.map(({ deliveryId }) => deliveryId);
}

const attemptOf = (deliveryId: string, kind: AttemptKind = 'scheduled'): Attempt => ({
  deliveryId,
  kind,
  token: randomUUID(),
  dueBy: null,
});
const resultOf = (attempt: Attempt, state: 'DELIVERED' | 'PENDING' | 'FAILED' | null) => ({
  ...attempt,
  at: new Date(),
  orderNumber: 'ORD1',
  url: 'https://shop.example/hook',
  merchantId: 'mer_1',
  environment: 'sandbox' as const,
  signature: 'ab'.repeat(32),
  standardSignature: null,
  apiVersion: '2026-11-20',
  statusCode: state === 'DELIVERED' ? 200 : 500,
  durationMs: 12,
  responseBody: Buffer.from([0, 255, 10]),
  error: state === 'DELIVERED' ? null : 'answered 500',
  state,
  nextAttemptAt: state === 'PENDING' ? new Date(Date.now() + 60_000) : null,
  failedAttempts: 1,
});
async function deliveryOf(service: TestService, deliveryId: string) {
  const [row] = await service.sql`
    SELECT d.state, d.attempt_token, d.attempt_until, d.next_attempt_at IS NULL AS is_over,
      d.settled_at IS NOT NULL AS is_settled,
      ARRAY(SELECT status_code FROM webhook_attempts a WHERE a.delivery_id = d.delivery_id
        ORDER BY attempt_id) AS status_codes
    FROM webhook_deliveries d WHERE delivery_id = ${deliveryId}`;
  return row;
}
const FREE = { attemptToken: null, attemptUntil: null };

/** Leases a delivery for an attempt that hangs for longer than its lease, and for another one after it. */
async function leaseAfterHung(
  { service, attemptLog }: { service: TestService; attemptLog: AttemptLog },
  deliveryId: string,
  kind: AttemptKind,
) {
  const hung = attemptOf(deliveryId);
  await attemptLog.lease(hung);
  await service.clock.set(ATTEMPT_LEASE_MS + 1000);
  const second = attemptOf(deliveryId, kind);
  expect(await attemptLog.lease(second)).toBeDefined();
  await service.clock.set(0);
  return { hung, second };
}

test('concurrent attempts share statements, and each gets its own delivery and result', async ({
  service,
  attemptLog,
  deliveryIds,
}) => {
  const started = deliveryIds.slice(0, 20).map((deliveryId) => attemptOf(deliveryId));
  const contexts = await Promise.all(started.map(attemptLog.lease));
  expect(contexts.map((context) => context?.deliveryId)).toEqual(deliveryIds.slice(0, 20));
  expect(new Set(contexts.map((context) => context?.eventId)).size).toBe(20);

  const stateOf = (index: number) => (['DELIVERED', 'PENDING', 'FAILED'] as const)[index % 3]!;
  await Promise.all(
    started.map((attempt, index) => attemptLog.record(resultOf(attempt, stateOf(index)))),
  );
  for (const [index, deliveryId] of deliveryIds.slice(0, 20).entries()) {
    const state = stateOf(index);
    expect(await deliveryOf(service, deliveryId)).toEqual({
      state,
      ...FREE,
      isOver: state !== 'PENDING',
      isSettled: state !== 'PENDING',
      statusCodes: [state === 'DELIVERED' ? 200 : 500],
    });
  }
  const [row] = await service.sql<{ responseBody: Buffer }[]>`
    SELECT response_body FROM webhook_attempts LIMIT 1`;
  expect([...(row?.responseBody ?? [])]).toEqual([0, 255, 10]);
});

test('of ten concurrent attempts of one delivery, one is begun', async ({
  service,
  attemptLog,
  deliveryIds,
}) => {
  const [deliveryId = ''] = deliveryIds.slice(20);
  const kinds = ['scheduled', 'manual'] as const;
  const ten = Array.from({ length: 10 }, (_, index) => attemptOf(deliveryId, kinds[index % 2]));
  const contexts = await Promise.all(ten.map(attemptLog.lease));
  const begun = ten.filter((_, index) => contexts[index] !== undefined);
  expect(begun).toHaveLength(1);
  expect(await deliveryOf(service, deliveryId)).toMatchObject({ attemptToken: begun[0]?.token });
  expect(await attemptLog.lease(attemptOf(deliveryId))).toBeUndefined();
  await attemptLog.abandon(begun[0]!);
  expect(await deliveryOf(service, deliveryId)).toMatchObject({ state: 'PENDING', ...FREE });
});

test('a success wins over a simultaneous failure', async ({ service, attemptLog, deliveryIds }) => {
  const [deliveryId = ''] = deliveryIds.slice(21);
  const { hung, second } = await leaseAfterHung({ service, attemptLog }, deliveryId, 'manual');
  await Promise.all([
    attemptLog.record(resultOf(hung, 'PENDING')),
    attemptLog.record(resultOf(second, 'DELIVERED')),
  ]);
  const [first, last] = [await deliveryOf(service, deliveryId), [200, 500]];
  expect(first).toMatchObject({ state: 'DELIVERED', ...FREE, isOver: true });
  expect(first?.['statusCodes'].toSorted()).toEqual(last);
});

test('the late failure of a hanging attempt neither ends the running attempt nor reverts a success', async ({
  service,
  attemptLog,
  deliveryIds,
}) => {
  const [deliveryId = ''] = deliveryIds.slice(22);
  const { hung, second } = await leaseAfterHung({ service, attemptLog }, deliveryId, 'scheduled');
  await attemptLog.record(resultOf(hung, 'PENDING'));
  expect(await deliveryOf(service, deliveryId)).toMatchObject({ attemptToken: second.token });
  await attemptLog.record(resultOf(second, 'DELIVERED'));
  await attemptLog.record(resultOf(hung, 'FAILED'));
  expect(await deliveryOf(service, deliveryId)).toMatchObject({ state: 'DELIVERED', ...FREE });
});

test('a FAILED delivery stays so after a failed manual attempt, and becomes DELIVERED after a successful one', async ({
  service,
  attemptLog,
  deliveryIds,
}) => {
  const [deliveryId = ''] = deliveryIds.slice(23);
  const scheduled = attemptOf(deliveryId);
  await attemptLog.lease(scheduled);
  await attemptLog.record(resultOf(scheduled, 'FAILED'));
  const failed = await deliveryOf(service, deliveryId);
  for (const state of [null, 'DELIVERED'] as const) {
    const manual = attemptOf(deliveryId, 'manual');
    await attemptLog.lease(manual);
    await attemptLog.record(resultOf(manual, state));
    const after = await deliveryOf(service, deliveryId);
    expect(after).toMatchObject({ state: state ?? 'FAILED', isSettled: failed?.['isSettled'] });
  }
});

test('if the database refuses a batch, every caller of the batch gets the error', async ({
  attemptLog,
  deliveryIds,
}) => {
  const all = deliveryIds.slice(24, 28).map((deliveryId) => attemptOf(deliveryId));
  const malformed = { ...attemptOf('dlv_x'), kind: 'other' as AttemptKind };
  const settled = await Promise.allSettled([...all, malformed].map(attemptLog.lease));
  expect(new Set(settled.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(await Promise.all(all.map(attemptLog.lease))).not.toContain(undefined);
});

test('a delivery is FAILED after five attempts, also if a hung process has recorded one beside them', async ({
  service,
  merchant,
  attemptLog,
  deliveryIds,
}) => {
  const [deliveryId = ''] = deliveryIds.slice(28);
  for (let count = 0; count < 5; count += 1) {
    const attempt = attemptOf(deliveryId);
    await attemptLog.lease(attempt);
    await attemptLog.record(resultOf(attempt, 'PENDING'));
  }
  await service.sql`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE delivery_id = ${deliveryId}`;
  expect(await attemptScheduled(service.deps, deliveryId)).toMatchObject({ outcome: 'failed' });
  expect(await deliveryOf(service, deliveryId)).toMatchObject({ state: 'FAILED', ...FREE });
  expect(merchant.receiver.received).toEqual([]);
});

test('an attempt by hand of an event that was erased meanwhile ends', async ({
  service,
  deliveryIds,
}) => {
  const [deliveryId = ''] = deliveryIds.slice(29);
  await service.sql`UPDATE webhook_deliveries SET is_erased = true WHERE delivery_id = ${deliveryId}`;
  expect(await attemptManually(service.deps, deliveryId)).toEqual({
    outcome: 'refused',
    reason: 'The event is erased',
  });
});

test('the end of an attempt that is not made leaves DELIVERED, which a hung process has recorded meanwhile', async ({
  service,
  attemptLog,
  deliveryIds,
}) => {
  const [deliveryId = ''] = deliveryIds.slice(30);
  const { hung, second } = await leaseAfterHung({ service, attemptLog }, deliveryId, 'scheduled');
  await attemptLog.record(resultOf(hung, 'DELIVERED'));
  await attemptLog.fail(second);
  expect(await deliveryOf(service, deliveryId)).toMatchObject({ state: 'DELIVERED' });
});

test('an attempt whose lease comes too late to be used is not made', async ({
  service,
  merchant,
  attemptLog,
  deliveryIds,
}) => {
  const [deliveryId = ''] = deliveryIds.slice(31);
  const lease: typeof attemptLog.lease = async (attempt) => {
    const context = await attemptLog.lease(attempt);
    const late = vi.spyOn(performance, 'now').mockReturnValue(Number.MAX_SAFE_INTEGER);
    onTestFinished(() => late.mockRestore());
    return context;
  };
  const deps = { ...service.deps, attemptLog: { ...attemptLog, lease } };
  await expect(attemptManually(deps, deliveryId)).rejects.toThrow('The lease came too late');
  expect(await deliveryOf(service, deliveryId)).toMatchObject({ state: 'PENDING', ...FREE });
  expect(merchant.receiver.received).toEqual([]);
});
