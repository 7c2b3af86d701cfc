import { expect } from 'vitest';
import { orderBeingPaid } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import { startWorkerThatDies } from '../support/worker-process.ts';

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  merchant: { webhooks: false },
});

test.afterEach(({ worker }) => worker.stop());

test('a worker that dies when it begins to close the payment session loses no cancel', async ({
  service,
  worker,
  merchant,
  orders,
}) => {
  const { order: created, pay } = await orderBeingPaid(service, merchant);
  const order = await orders.workflowOf(created);
  const doomed = await startWorkerThatDies(service, 'after CLOSING_PAYMENT');
  const cancelling = merchant.sandbox.cancel(created);
  await doomed.exited;
  expect(await order.row()).toMatchObject({
    status: 'ACCEPTED',
    pendingOperation: { kind: 'closing' },
  });
  await worker.start();
  expect((await cancelling).status).toBe(200);
  expect(await order.row()).toMatchObject({ status: 'CANCELLED', pendingOperation: null });
  await expect(pay()).rejects.toThrow('The QR Code is closed');
  // On a busy machine the session may not be closed in time at first.
  const kinds = (await order.kinds()).join(' ');
  expect(kinds.replaceAll(' PAYMENT_STILL_OPEN CLOSING_PAYMENT', '')).toBe(
    'ORDER_CREATED CLOSING_PAYMENT ORDER_CANCELLED',
  );
});
