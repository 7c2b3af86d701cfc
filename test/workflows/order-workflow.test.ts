import { describe, expect } from 'vitest';
import type { OrderMessageName } from '../../src/contracts/order-workflow.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { atRazorpay } from '../support/gateway.ts';
import type { Orders } from '../support/orders.ts';
import { bringTo, startOrder, untilItSends } from '../support/orders.ts';
import { STATUSES } from '../domain/order-states.ts';
import { serviceTest } from '../support/service-test.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const test = serviceTest({ time: 'skipping', callbacks: false });

const orderIn = (orders: Orders, status: OrderStatus) => orders.in(status);

/** An operator's `decide` has an argument, for whom; the others have only their name. */
const messageOf = (what: string): [OrderMessageName, object] => {
  const [name, how] = what.split(/ for | as /);
  if (name === 'decide') return ['decide', { for: how }];
  return name === 'settle' ? ['settle', { outcome: how }] : [what as OrderMessageName, {}];
};

// First what skips time, because each skip brings the deadlines of all open orders of the file.
describe('each transition that time causes', () => {
  test('(none) · create → ACCEPTED, ORDER_CREATED', async ({ orders }) => {
    const order = await orderIn(orders, 'ACCEPTED');
    expect(await order.row()).toMatchObject({ status: 'ACCEPTED', stepNumber: 1 });
    expect(await order.events()).toEqual(['1 ORDER_CREATED']);
  });

  test.for([
    ['ACCEPTED', 24, 'the payment link expires', 'CANCELLED', 'ORDER_CANCELLED'],
    ['DELIVERED', 24, '24 hours pass without a dispute', 'COMPLETED', 'ORDER_COMPLETED'],
    ['DISPUTE_OPEN', 72, '72 hours pass without a resolution', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_UNDER_REVIEW', 72, '72 hours pass after evidence', 'REFUNDED', 'REFUND_PROCESSED'],
  ] as const)(
    '%s · after %i h: %s → %s, %s',
    async ([from, hours, _what, next, kind], { service, orders }) => {
      const order = await orderIn(orders, from);
      await service.skip(hours * HOUR_MS - MINUTE_MS);
      expect((await order.row()).status).toBe(from);
      await service.skip(MINUTE_MS + 1000);
      await order.untilStatus(next);
      expect((await order.kinds()).at(-1)).toBe(kind);
      if (next === 'REFUNDED') {
        expect((await order.row()).refundReason).toBe('dispute_not_resolved_in_time');
      }
    },
  );
});

describe('the exact message of each refusal, which leaves no history event', () => {
  const DISPUTED: OrderStatus[] = ['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'];
  const CANNOT_SETTLE =
    'Cannot settle; order must be releasing or refunding its money, or have lost it at the gateway';
  const REFUSED: [string, OrderStatus[], string][] = [
    ['deliver', ['PAID'], 'Cannot mark as delivered; order must be in PAID status'],
    ['cancel', ['ACCEPTED'], 'Cannot cancel; order must be in ACCEPTED status'],
    ['pay', ['ACCEPTED'], 'Cannot pay; order must be in ACCEPTED status'],
    ['failPayment', ['ACCEPTED'], 'Cannot fail payment; order must be in ACCEPTED status'],
    [
      'dispute',
      ['PAID', 'DELIVERED'],
      'Cannot raise dispute; order must be in PAID or DELIVERED status',
    ],
    [
      'submitEvidence',
      ['DISPUTE_OPEN'],
      'Cannot submit evidence; order must be in DISPUTE_OPEN status',
    ],
    ['resolve', DISPUTED, 'Cannot resolve; order must be in DISPUTE status'],
    ['accept', DISPUTED, 'Cannot accept; order must be in DISPUTE status'],
    ['decide for merchant', DISPUTED, 'Cannot decide; order must be in DISPUTE status'],
    ['decide for buyer', DISPUTED, 'Cannot decide; order must be in DISPUTE status'],
    ['settle as released', ['DELIVERED', ...DISPUTED], CANNOT_SETTLE],
    ['settle as refunded', ['PAID', 'DELIVERED', ...DISPUTED], CANNOT_SETTLE],
  ];

  const COMPLETED_FIRST = [...new Set<OrderStatus>(['COMPLETED', ...STATUSES])];

  test.for(COMPLETED_FIRST)('in %s', async (status, { service }) => {
    // Its webhooks fail, so that the workflow of an order in a final status still sends them.
    const { merchantId: deafMerchant, receiver } = await service.newMerchant();
    receiver.answerWith(() => 500);
    const order = await startOrder(service, { merchantId: deafMerchant });
    await untilItSends(order);
    await bringTo(status, order, service);
    await untilItSends(order);
    const before = await order.row();
    const payment = atRazorpay('pay_of_nobody');
    for (const [what, fits, words] of REFUSED.filter(([, allowed]) => !allowed.includes(status))) {
      const [name, message] = messageOf(what);
      const refusal = await order.refusalOf(name, name === 'pay' ? payment : message);
      expect([what, fits, refusal]).toEqual([what, fits, words]);
    }
    if (['COMPLETED', 'REFUNDED', 'CANCELLED'].includes(status)) {
      expect(await order.refusalOf('advance', { seconds: 60 })).toBe(
        'Cannot advance; order must be in the sandbox, not busy, and in no final status',
      );
    }
    expect(await order.row()).toEqual(before);
  });
});

describe.each(['update', 'signal'] as const)('each row of the transition table, by %s', (way) => {
  test('ACCEPTED · pay → PAID, PAYMENT_SUCCESS', async ({ orders }) => {
    const order = await orderIn(orders, 'ACCEPTED');
    const gatewayPaymentId = await order.capture();
    await order[way]('pay', atRazorpay(gatewayPaymentId));
    await order.untilStep('PAYMENT_SUCCESS');
    expect(await order.row()).toMatchObject({
      status: 'PAID',
      gatewayPaymentId: gatewayPaymentId,
    });
    expect(await order.events()).toEqual(['1 ORDER_CREATED', '2 PAYMENT_SUCCESS']);
  });

  test.for([
    ['ACCEPTED', 'failPayment', 'ACCEPTED', 'PAYMENT_FAILED'],
    ['ACCEPTED', 'cancel', 'CANCELLED', 'ORDER_CANCELLED'],
    ['PAID', 'deliver', 'DELIVERED', 'DELIVERY_CONFIRMED'],
    ['PAID', 'dispute', 'DISPUTE_OPEN', 'DISPUTE_RAISED'],
    ['DELIVERED', 'dispute', 'DISPUTE_OPEN', 'DISPUTE_RAISED'],
    ['DISPUTE_OPEN', 'submitEvidence', 'DISPUTE_UNDER_REVIEW', 'EVIDENCE_SUBMITTED'],
    ['DISPUTE_OPEN', 'resolve', 'DELIVERED', 'DISPUTE_RESOLVED'],
    ['DISPUTE_OPEN', 'accept', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_UNDER_REVIEW', 'resolve', 'DELIVERED', 'DISPUTE_RESOLVED'],
    ['DISPUTE_UNDER_REVIEW', 'accept', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_UNDER_REVIEW', 'decide for merchant', 'DELIVERED', 'DISPUTE_RESOLVED'],
    ['DISPUTE_UNDER_REVIEW', 'decide for buyer', 'REFUNDED', 'REFUND_PROCESSED'],
  ] as const)('%s · %s → %s, %s', async ([from, what, next, kind], { orders }) => {
    const order = await orderIn(orders, from);
    const before = await order.kinds();
    await order[way](...messageOf(what));
    await order.untilStep(kind);
    expect(await order.row()).toMatchObject({ status: next, pendingOperation: null });
    const kinds = await order.kinds();
    expect(kinds.slice(before.length)).toEqual(
      next === 'REFUNDED' ? ['REFUND_STARTED', kind] : [kind],
    );
    const disputes = kinds.filter((name) => name === 'DISPUTE_RAISED').length;
    expect((await order.row()).disputeCount).toBe(disputes);
  });
});
