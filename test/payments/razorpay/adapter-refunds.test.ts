import { describe, expect } from 'vitest';
import { GatewayRefused, GatewayUnavailable } from '../../../src/payments/gateway/gateway.ts';
import { createRazorpayGateway } from '../../../src/payments/razorpay/gateway.ts';
import { inParallel } from '../../support/in-parallel.ts';
import type { Harness } from '../gateway-harness.ts';
import { harnessTest, KEYS, untilDone } from '../gateway-harness.ts';

const test = harnessTest().extend(
  'withShortTimeout',
  { scope: 'file' },
  ({ harness }, { onCleanup }) => {
    const baseUrl = harness.simulator.url;
    const gateway = createRazorpayGateway({ baseUrl, ...KEYS, timeoutMs: 250 });
    onCleanup(() => gateway.close());
    return gateway;
  },
);

const REFUND = '/v1/payments/*/refund';

// A third of each payment, so that the amount alone does not prevent a second and a third refund.
const REFUNDED_PAISE = 3_000;

/** Refunds a part of each payment twice while responses are lost. @returns what the gateway made, and the amount */
async function refundWithLostResponses(harness: Harness, count: number) {
  const refundsBefore = await harness.total('refunds');
  const refundedBeforePaise = await harness.total('refundedPaise');
  const numbers = Array.from({ length: count }, (_, index) => index);
  const paymentIds: string[] = [];
  await inParallel(numbers, 16, async () => {
    paymentIds.push(await harness.capture());
  });
  await harness.fault({ kind: 'drop_answer', path: '/v1/payments/*/refund' });
  await inParallel(paymentIds, 16, async (paymentId) => {
    const input = harness.refundInput(paymentId, REFUNDED_PAISE);
    const first = await untilDone(() => harness.gateway.refund(input));
    const again = await untilDone(() => harness.gateway.refund(input));
    expect(again).toEqual(first);
    const refunds = await harness.made(paymentId, 'refunds');
    expect(refunds.map(({ id, amount }) => [id, amount])).toEqual([
      [first.reversalId, REFUNDED_PAISE],
    ]);
  });
  return {
    refunds: (await harness.total('refunds')) - refundsBefore,
    refundedPaise: (await harness.total('refundedPaise')) - refundedBeforePaise,
  };
}

describe('refunds whose responses are lost after they were made', () => {
  test('are 100 for 100 payments', async ({ harness }) => {
    expect(await refundWithLostResponses(harness, 100)).toEqual({
      refunds: 100,
      refundedPaise: 300_000,
    });
  });

  test('are 50 for 50 payments by the look-up alone, with a gateway that ignores the key', async ({
    harness,
  }) => {
    await harness.setSwitches('all', { honourIdempotencyKeys: false });
    expect(await refundWithLostResponses(harness, 50)).toEqual({
      refunds: 50,
      refundedPaise: 150_000,
    });
  });
});

describe('a refund', () => {
  test('is made once by concurrent callers', async ({ harness }) => {
    const paymentId = await harness.capture();
    const input = harness.refundInput(paymentId, 1_000);
    const refunds = await Promise.all(
      Array.from({ length: 8 }, () => harness.gateway.refund(input)),
    );
    expect(new Set(refunds.map(({ reversalId }) => reversalId)).size).toBe(1);
    expect(await harness.made(paymentId, 'refunds')).toHaveLength(1);
  });

  test.for([
    ['a connection cut before', { kind: 'reset', path: REFUND, count: 1 }, false],
    ['a 503 before', { kind: 'error', path: REFUND, count: 1 }, false],
    ['a 504 after it was made', { kind: 'error', status: 504, work: 'before', path: REFUND }, true],
    ['an answer that is lost', { kind: 'drop_answer', path: REFUND }, true],
  ] as const)('meets %s', async ([_name, fault, isMade], { harness }) => {
    const paymentId = await harness.capture();
    await harness.fault(fault);
    const refunding = harness.gateway.refund(harness.refundInput(paymentId));
    if (isMade) expect((await refunding).state).toBe('processed');
    else await expect(refunding).rejects.toThrow(GatewayUnavailable);
    expect(await harness.made(paymentId, 'refunds')).toHaveLength(isMade ? 1 : 0);
  });

  test.for(['before', 'after'])(
    'made %s the caller’s time-out is made once',
    async (work, { harness, withShortTimeout }) => {
      const paymentId = await harness.capture();
      await harness.fault({ kind: 'late', work, path: REFUND, count: 1 });
      const input = harness.refundInput(paymentId, 4_000);
      const refund = await untilDone(() => withShortTimeout.refund(input));
      expect(await harness.made(paymentId, 'refunds')).toMatchObject([{ id: refund.reversalId }]);
    },
  );

  test('succeeds with a gateway that fails every third call in every way', async ({ harness }) => {
    const paymentIds = await Promise.all(Array.from({ length: 50 }, () => harness.capture()));
    for (const kind of ['reset', 'error', 'drop_answer']) {
      await harness.fault({ kind, probability: 0.33 });
    }
    await inParallel(paymentIds, 50, async (paymentId) => {
      await untilDone(() => harness.gateway.refund(harness.refundInput(paymentId, 3_000)));
    });
    await harness.clearFaults();
    for (const paymentId of paymentIds) {
      expect(await harness.made(paymentId, 'refunds')).toHaveLength(1);
    }
  });

  test('with a key that moved another amount is refused', async ({ harness }) => {
    const paymentId = await harness.capture();
    await harness.gateway.refund(harness.refundInput(paymentId, 1_000));
    const other = harness.gateway.refund(harness.refundInput(paymentId, 2_000));
    await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  });

  test('that is refused permanently has the reason, and works once the reason is gone', async ({
    harness,
  }) => {
    const paymentId = await harness.capture();
    await harness.setSwitches(paymentId, { refundsRefused: true });
    const input = harness.refundInput(paymentId);
    await expect(harness.gateway.refund(input)).rejects.toMatchObject({
      name: 'GatewayRefused',
      code: 'BAD_REQUEST_ERROR',
      description: expect.stringContaining('more than 6 months old'),
    });
    await harness.setSwitches(paymentId, { refundsRefused: null });
    expect((await harness.gateway.refund(input)).state).toBe('processed');
  });

  test('of more than the captured amount is refused', async ({ harness }) => {
    const paymentId = await harness.capture(5_000);
    const refunding = harness.gateway.refund(harness.refundInput(paymentId, 5_001));
    await expect(refunding).rejects.toThrow(GatewayRefused);
  });

  test('that is pending is checked again until it is processed', async ({ harness }) => {
    await harness.setSwitches('all', { refundsStartPending: true });
    const input = harness.refundInput(await harness.capture());
    const pending = await harness.gateway.refund(input);
    expect(pending.state).toBe('pending');
    const end = `/simulator/refunds/${pending.reversalId}/end`;
    await harness.call('POST', end, { status: 'processed' });
    expect(await harness.gateway.refund(input)).toEqual({ ...pending, state: 'processed' });
  });

  test('that failed at the bank is made again, and only once', async ({ harness }) => {
    await harness.setSwitches('all', { refundsStartPending: true });
    const input = harness.refundInput(await harness.capture());
    const failed = await harness.gateway.refund(input);
    const end = `/simulator/refunds/${failed.reversalId}/end`;
    await harness.call('POST', end, { status: 'failed' });
    await harness.setSwitches('all', { refundsStartPending: false });
    await harness.fault({ kind: 'drop_answer', path: REFUND });
    const second = await harness.gateway.refund(input);
    expect(second.state).toBe('processed');
    expect(await harness.gateway.refund(input)).toEqual(second);
    const statuses = (await harness.made(input.gatewayPaymentId, 'refunds')).map(
      ({ status }) => status,
    );
    expect(statuses).toEqual(['processed', 'failed']);
  });
});
