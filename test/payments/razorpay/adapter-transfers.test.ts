import { describe, expect } from 'vitest';
import { GatewayRefused, GatewayUnavailable } from '../../../src/payments/gateway/gateway.ts';
import { inParallel } from '../../support/in-parallel.ts';
import { harnessTest, untilDone } from '../gateway-harness.ts';

const test = harnessTest();

const REFUND = '/v1/payments/*/refund';
const TRANSFERS = '/v1/payments/*/transfers';

describe('held funds', () => {
  test('are held once and released once, and then the merchant has them', async ({ harness }) => {
    const input = harness.transferInput(await harness.capture(), await harness.linkedAccount());
    await harness.gateway.holdFunds(input);
    expect((await harness.gateway.holdFunds(input)).state).toBe('held');
    expect((await harness.gateway.releaseFunds(input)).state).toBe('released');
    expect((await harness.gateway.releaseFunds(input)).state).toBe('released');
    expect(await harness.made(input.gatewayPaymentId, 'transfers')).toMatchObject([
      { amount: 10_000, on_hold: false },
    ]);
  });

  test('that were never held are released by a new transfer', async ({ harness }) => {
    const input = harness.transferInput(await harness.capture(), await harness.linkedAccount());
    expect((await harness.gateway.releaseFunds(input)).state).toBe('released');
    expect((await harness.gateway.releaseFunds(input)).state).toBe('released');
    expect(await harness.made(input.gatewayPaymentId, 'transfers')).toHaveLength(1);
  });

  test('move once in 100 holds and releases that lose every response', async ({ harness }) => {
    const linkedAccountId = await harness.linkedAccount();
    const paymentIds = await Promise.all(Array.from({ length: 100 }, () => harness.capture()));
    for (const method of ['POST', 'PATCH']) await harness.fault({ kind: 'drop_answer', method });
    await inParallel(paymentIds, 8, async (paymentId) => {
      // A third, so that the captured amount does not prevent a second transfer.
      const input = harness.transferInput(paymentId, linkedAccountId, 3_000);
      expect((await harness.gateway.holdFunds(input)).state).toBe('held');
      expect((await harness.gateway.releaseFunds(input)).state).toBe('released');
      expect(await harness.made(paymentId, 'transfers')).toHaveLength(1);
    });
  });

  test.for(['reset', 'error'])('stay where they are through a %s', async (kind, { harness }) => {
    const input = harness.transferInput(await harness.capture(), await harness.linkedAccount());
    await harness.fault({ kind, path: TRANSFERS, method: 'POST', count: 1 });
    await expect(harness.gateway.holdFunds(input)).rejects.toThrow(GatewayUnavailable);
    await harness.gateway.holdFunds(input);
    await harness.fault({ kind, path: '/v1/transfers/*', count: 1 });
    await expect(harness.gateway.releaseFunds(input)).rejects.toThrow(GatewayUnavailable);
    expect(await harness.made(input.gatewayPaymentId, 'transfers')).toMatchObject([
      { on_hold: true },
    ]);
  });

  test.for(['held', 'released'])(
    'that are %s are returned to the buyer by a refund',
    async (state, { harness }) => {
      const linkedAccountId = await harness.linkedAccount();
      const before = await harness.totals();
      const input = harness.transferInput(await harness.capture(), linkedAccountId);
      await harness.gateway.holdFunds(input);
      if (state === 'released') await harness.gateway.releaseFunds(input);
      await harness.fault({ kind: 'drop_answer', path: REFUND });
      await harness.gateway.refund(harness.refundInput(input.gatewayPaymentId));
      const [transfer] = await harness.made(input.gatewayPaymentId, 'transfers');
      expect(transfer?.status).toBe('reversed');
      const after = await harness.totals();
      expect(after['platformPaise']).toBe(before['platformPaise']);
      await expect(harness.gateway.releaseFunds(input)).rejects.toMatchObject({
        code: 'TRANSFER_REVERSED',
      });
    },
  );

  test('for a closed account are refused permanently, until it is open again', async ({
    harness,
  }) => {
    const linkedAccountId = await harness.linkedAccount('closed@example.com');
    await harness.setSwitches(linkedAccountId, { transfersRefused: true });
    const paymentId = await harness.capture();
    const input = harness.transferInput(paymentId, linkedAccountId);
    await expect(harness.gateway.releaseFunds(input)).rejects.toThrow(GatewayRefused);
    await harness.setSwitches(linkedAccountId, { transfersRefused: null });
    await untilDone(() => harness.gateway.releaseFunds(input));
    expect(await harness.made(paymentId, 'transfers')).toHaveLength(1);
  });
});
