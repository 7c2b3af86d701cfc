import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../../src/domain/index.ts';
import { ledgerOf } from '../../support/gateway.ts';
import { serviceTest } from '../../support/service-test.ts';

const AMOUNT_PAISE = 49_950;

const test = serviceTest({ time: 'skipping', callbacks: false, merchant: { webhooks: false } });

describe('the ledger', () => {
  const CAPTURE = `capture: gateway_clearing → merchant_held ${AMOUNT_PAISE}`;
  const HELD = { gateway_clearing: -AMOUNT_PAISE, merchant_held: AMOUNT_PAISE };

  test.for<[OrderStatus, string[], Record<string, number>]>([
    ['ACCEPTED', [], {}],
    ['PAID', [CAPTURE], HELD],
    ['DELIVERED', [CAPTURE], HELD],
    ['DISPUTE_OPEN', [CAPTURE], HELD],
    ['DISPUTE_UNDER_REVIEW', [CAPTURE], HELD],
    [
      'COMPLETED',
      [CAPTURE, `release: merchant_held → merchant_available ${AMOUNT_PAISE}`],
      { gateway_clearing: -AMOUNT_PAISE, merchant_available: AMOUNT_PAISE },
    ],
    [
      'REFUNDED',
      [CAPTURE, `refund: merchant_held → refunds ${AMOUNT_PAISE}`],
      { gateway_clearing: -AMOUNT_PAISE, refunds: AMOUNT_PAISE },
    ],
    ['CANCELLED', [], {}],
  ])(
    'of an order that is %s shows where the money is, and adds up to zero',
    async ([status, lines, balances], { service, orders }) => {
      const order = await orders.in(status);
      expect(await ledgerOf(service, order.orderNumber)).toEqual({ lines, balances, sum: 0 });
    },
  );

  test('can only be appended to', async ({ service, orders }) => {
    const order = await orders.in('PAID');
    const { sql } = service;
    const { orderNumber } = order;
    const changes = [
      sql`UPDATE ledger_transfers SET amount_paise = 1 WHERE order_number = ${orderNumber}`,
      sql`DELETE FROM ledger_transfers WHERE order_number = ${orderNumber}`,
      sql`TRUNCATE ledger_transfers CASCADE`,
    ];
    for (const change of changes) await expect(change).rejects.toThrow('is append-only');
    expect((await ledgerOf(service, orderNumber)).lines).toEqual([CAPTURE]);
  });

  test.for([
    ['a second way out', { operation: 'refund', creditAccount: 'refunds' }],
    ['the same way out twice', { operation: 'release', creditAccount: 'merchant_available' }],
    ['a line from an account to itself', { operation: 'refund', creditAccount: 'merchant_held' }],
    ['a line of nothing', { operation: 'refund', creditAccount: 'refunds', amountPaise: 0 }],
    ['a line of less than nothing', { operation: 'refund', amountPaise: -AMOUNT_PAISE }],
  ] as const)('refuses %s', async ([_what, line], { service, merchant, orders }) => {
    const order = await orders.in('COMPLETED');
    const entry = {
      gateway: 'razorpay',
      gatewayPaymentId: (await order.row()).gatewayPaymentId,
      orderNumber: order.orderNumber,
      merchantId: merchant.merchantId,
      environment: 'sandbox',
      debitAccount: 'merchant_held',
      creditAccount: 'refunds',
      amountPaise: AMOUNT_PAISE,
      ...line,
    };
    await expect(service.sql`INSERT INTO ledger_transfers ${service.sql(entry)}`).rejects.toThrow(
      /violates (unique|check) constraint/,
    );
  });
});
