import { expect } from 'vitest';
import { askGateway } from './gateway.ts';
import { serviceTest } from './service-test.ts';
import type { TestService } from './service.ts';

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  merchant: { webhooks: false },
});
const extended = test.extend('nameOfService', { scope: 'file' }, ({ service }) => service.origin);
const services = new Set<TestService>();

const listSessions = (service: TestService) =>
  askGateway(service, 'GET', '/v1/payments/qr_codes?count=1');

test('a gateway fault affects only the test that started it', async ({ service, gateway }) => {
  services.add(service);
  await gateway.addFault({ kind: 'error' });
  await expect(listSessions(service)).rejects.toThrow('503');
});

extended(
  'and is over in the next one, which has the same service though it is extended',
  async ({ service, nameOfService }) => {
    services.add(service);
    expect(services.size).toBe(1);
    expect(nameOfService).toBe(service.origin);
    await expect(listSessions(service)).resolves.toMatchObject({ entity: 'collection' });
  },
);

test('without a worker an order does not move until the test starts one', async ({
  orders,
  worker,
}) => {
  const order = await orders.start();
  await order.signal('pay', { gateway: 'razorpay', gatewayPaymentId: await order.capture() });
  expect((await order.row()).status).toBe('ACCEPTED');
  await worker.start();
  await order.untilStatus('PAID');
  await worker.whileStopped(() => order.signal('deliver'));
  await order.untilStatus('DELIVERED');
});
