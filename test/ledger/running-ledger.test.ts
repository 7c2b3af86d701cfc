import { expect, test } from 'vitest';
import type { LedgerLine } from '../../src/ledger/queries.ts';
import { runningLedger } from '../../src/ledger/running-ledger.ts';

const line = (
  operation: LedgerLine['operation'],
  from: LedgerLine['from'],
  to: LedgerLine['to'],
  amountPaise: number,
): LedgerLine => ({
  at: new Date(),
  operation,
  from,
  to,
  amountPaise,
  gatewayPaymentId: 'pay_1',
});

const balancesAfter = (...lines: LedgerLine[]) =>
  runningLedger(lines).map(({ heldPaise, releasedPaise, refundedPaise, surplusPaise }) => [
    heldPaise,
    releasedPaise,
    refundedPaise,
    surplusPaise,
  ]);

test('each line shows what is held, released and refunded after it', () => {
  expect(
    balancesAfter(
      line('capture', 'gateway_clearing', 'merchant_held', 49_950),
      line('reversal', 'merchant_held', 'refunds', 10_000),
      line('release', 'merchant_held', 'merchant_available', 39_950),
      line('reversal', 'merchant_available', 'refunds', 5000),
    ),
  ).toEqual([
    [49_950, 0, 0, 0],
    [39_950, 0, 10_000, 0],
    [0, 39_950, 10_000, 0],
    [0, 34_950, 15_000, 0],
  ]);
});

test('a capture that the order could not take is never held for the merchant', () => {
  expect(
    balancesAfter(
      line('capture', 'gateway_clearing', 'surplus', 700),
      line('refund', 'surplus', 'refunds', 700),
    ),
  ).toEqual([
    [0, 0, 0, 700],
    [0, 0, 700, 0],
  ]);
});
