import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { madeAtGateway, payAtGateway, sessionOf, withoutCallbacks } from '../support/gateway.ts';
import { cancelPatiently, directOrder, startOrderIn } from '../support/orders.ts';
import { findOrderByNumber } from '../../src/orders/queries.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { startWorkerThatDiesAfter } from '../support/worker-process.ts';

let service: TestService;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;
let worker: Awaited<ReturnType<TestService['startWorker']>> | undefined;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  await withoutCallbacks(service);
  merchant = await service.newMerchant({ webhooks: false });
});
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
});
afterAll(() => service?.stop());

/** An order of which an open payment session is known to the gateway. */
async function anOrderBeingPaid() {
  const { order_number } = await merchant.sandbox.create();
  await merchant.sandbox.post(`/orders/${order_number}/payment-sessions`);
  const { gateway_session_id } = await sessionOf(service, { order_number });
  const order = directOrder(service, await findOrderByNumber(service.sql, order_number));
  return { order, gatewaySessionId: gateway_session_id };
}

test('a worker that dies when it begins to close the payment loses no cancel', async () => {
  const { order, gatewaySessionId } = await anOrderBeingPaid();
  const doomed = await startWorkerThatDiesAfter(service, 'CLOSING_PAYMENT');
  const cancelling = cancelPatiently(merchant.sandbox, { order_number: order.orderNumber });
  await doomed.exited;
  expect(await order.row()).toMatchObject({ status: 'ACCEPTED', busy: { kind: 'closing' } });
  worker = await service.startWorker();
  await cancelling;
  expect(await order.row()).toMatchObject({ status: 'CANCELLED', busy: null });
  await expect(payAtGateway(service, gatewaySessionId)).rejects.toThrow('The QR Code is closed');
  expect(await order.kinds()).toEqual(['ORDER_CREATED', 'CLOSING_PAYMENT', 'ORDER_CANCELLED']);
});

test('a worker that dies when it begins to refund refunds once', async () => {
  worker = await service.startWorker();
  const order = await startOrderIn(service, 'DISPUTE_OPEN', merchant);
  await worker.stop();
  worker = undefined;
  const doomed = await startWorkerThatDiesAfter(service, 'REFUND_STARTED');
  await order.signal('accept', { requestId: 'accept:1' });
  await doomed.exited;
  worker = await service.startWorker();
  await order.untilStatus('REFUNDED');
  const paymentId = (await order.row()).gateway_payment_id ?? '';
  expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  expect((await order.kinds()).slice(4)).toEqual(['REFUND_STARTED', 'REFUND_PROCESSED']);
});
