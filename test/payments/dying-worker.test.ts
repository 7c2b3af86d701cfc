import { expect } from 'vitest';
import { findOrderByNumber } from '../../src/orders/queries.ts';
import { madeAtGateway, payAtGateway, sessionOf } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { cancelPatiently, directOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { startWorkerThatDiesAfter } from '../support/worker-process.ts';

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  merchant: { webhooks: false },
});

test.afterEach(({ worker }) => worker.stop());

/** An order of which an open payment session is known to the gateway. */
async function anOrderBeingPaid(service: TestService, merchant: Merchant) {
  const { order_number } = await merchant.sandbox.create();
  await merchant.sandbox.post(`/orders/${order_number}/payment-sessions`);
  const { gateway_session_id } = await sessionOf(service, { order_number });
  const order = directOrder(service, await findOrderByNumber(service.sql, order_number));
  return { order, gatewaySessionId: gateway_session_id };
}

test('a worker that dies when it begins to close the payment loses no cancel', async ({
  service,
  worker,
  merchant,
}) => {
  const { order, gatewaySessionId } = await anOrderBeingPaid(service, merchant);
  const doomed = await startWorkerThatDiesAfter(service, 'CLOSING_PAYMENT');
  const cancelling = cancelPatiently(merchant.sandbox, { order_number: order.orderNumber });
  await doomed.exited;
  expect(await order.row()).toMatchObject({ status: 'ACCEPTED', busy: { kind: 'closing' } });
  await worker.start();
  await cancelling;
  expect(await order.row()).toMatchObject({ status: 'CANCELLED', busy: null });
  await expect(payAtGateway(service, gatewaySessionId)).rejects.toThrow('The QR Code is closed');
  expect(await order.kinds()).toEqual(['ORDER_CREATED', 'CLOSING_PAYMENT', 'ORDER_CANCELLED']);
});

test('a worker that dies when it begins to refund refunds once', async ({
  service,
  worker,
  orders,
}) => {
  await worker.start();
  const order = await orders.in('DISPUTE_OPEN');
  await worker.stop();
  const doomed = await startWorkerThatDiesAfter(service, 'REFUND_STARTED');
  await order.signal('accept', { requestId: 'accept:1' });
  await doomed.exited;
  await worker.start();
  await order.untilStatus('REFUNDED');
  const paymentId = (await order.row()).gateway_payment_id ?? '';
  expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  expect((await order.kinds()).slice(4)).toEqual(['REFUND_STARTED', 'REFUND_PROCESSED']);
});
