import { expect } from 'vitest';
import { inParallel } from '../support/in-parallel.ts';
import type { Harness } from './gateway-harness.ts';
import { untilDone } from './gateway-harness.ts';

// A third of each payment, so that the amount alone does not prevent a second and a third refund.
const REFUNDED_PAISE = 3_000;

/**
 * Refunds a part of so many payments, each twice, at a gateway that loses the responses.
 *
 * @returns the refunds that the gateway made, and their amount
 */
export async function refundWithLostResponses(harness: Harness, count: number) {
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
