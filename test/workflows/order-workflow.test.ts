import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { isFinal, ORDER_STATUSES } from '../../src/domain/index.ts';
import { obey, refusalOf } from '../domain/lifecycle-model.ts';
import { aCommand, factsIn, NOW_MS } from '../domain/lifecycle-walk.ts';
import { atRazorpay } from '../support/gateway.ts';
import { bringTo, startOrder, untilItSends } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import { MESSAGES, rowsWithout } from './messages.ts';

const test = serviceTest({ time: 'skipping', callbacks: false });

describe('the exact message of each refusal, which leaves the order as it was', () => {
  const COMPLETED_FIRST = [...new Set<OrderStatus>(['COMPLETED', ...ORDER_STATUSES])];

  test.for(COMPLETED_FIRST)('in %s', async (status, { service }) => {
    // Its webhooks fail, so that the workflow of an order in a final status still sends them.
    const { merchantId: deafMerchant, receiver } = await service.newMerchant();
    receiver.answerWith(() => 500);
    const order = await startOrder(service, { merchantId: deafMerchant });
    await untilItSends(order);
    await bringTo(status, order, service);
    await untilItSends(order);
    const before = await order.row();
    const facts = factsIn(status);
    const refused = MESSAGES.filter(({ type }) => !obey(facts, aCommand(type), NOW_MS));
    expect(refused.length).toBe(isFinal(status) ? MESSAGES.length : refused.length);
    for (const { name, message, type } of refused) {
      const refusal = await order.refusalOf(name, message);
      expect([type, refusal]).toEqual([type, refusalOf(facts, aCommand(type))]);
    }
    expect(await order.row()).toEqual(before);
  });
});

/** Settlements and the sandbox clock have tests of their own: the first need the record of an operator. */
const ROWS = rowsWithout('settle', 'advance');

// The API sends commands as Updates: order-over-http.test.ts has each row.
describe('each row of the transition table, by a Signal', () => {
  test.for(ROWS)('$from · $type → $to, $step', async (row, { orders }) => {
    const { name, message } = row;
    const order = await orders.in(row.from);
    const before = await order.kinds();
    const isPayment = name === 'pay';
    const paymentId = isPayment ? await order.capture() : '';
    await order.signal(name, isPayment ? atRazorpay(paymentId) : message);
    await order.untilStep(row.step);
    const { status, pendingOperation, gatewayPaymentId, disputeCount } = await order.row();
    expect([status, pendingOperation]).toEqual([row.to, null]);
    if (isPayment) expect(gatewayPaymentId).toBe(paymentId);
    const kinds = await order.kinds();
    // These orders have no open payment session that would have to be closed.
    const steps = row.steps.filter((kind) => kind !== 'CLOSING_PAYMENT');
    expect(kinds.slice(before.length)).toEqual(steps);
    expect(disputeCount).toBe(kinds.filter((kind) => kind === 'DISPUTE_RAISED').length);
  });
});
