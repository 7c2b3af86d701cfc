import { createHmac } from 'node:crypto';
import type { Environment, OrderStatus } from '../../src/domain/index.ts';
import type { OrderRef } from '../support/api-client.ts';
import { orderBeingPaid, payAtGateway, simulator } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

interface Callback {
  id: string;
  name: string;
  body: string;
}
interface CallBackOptions {
  signature?: string | null;
  environment?: Environment;
  origin?: string;
}

/** Orders with payments, what becomes of them, and callbacks about them, sent as the gateway sends them. */
export function createCallbackKit(service: TestService, merchant: Merchant) {
  const read = (order: OrderRef, environment: Environment = 'sandbox') =>
    merchant[environment].read(order);

  const hold = () => simulator(service, 'PATCH', '/callbacks', { hold: true });

  const sign = (body: string, environment: Environment = 'sandbox') =>
    createHmac('sha256', service.config.gateways[environment].razorpay?.webhookSecret ?? '')
      .update(body)
      .digest('hex');

  const anOrderBeingPaid = (environment?: Environment) =>
    orderBeingPaid(service, merchant, environment);

  async function callbacksAbout(about: string): Promise<Callback[]> {
    const { events } = await simulator<{ events: Callback[] }>(service, 'GET', '/callbacks');
    return events.filter(({ body }) => body.includes(about));
  }

  return {
    read,
    hold,
    sign,
    anOrderBeingPaid,
    untilStatus: (order: OrderRef, status: OrderStatus, environment: Environment = 'sandbox') =>
      merchant[environment].untilStatus(order, status),

    async events({ order_number }: OrderRef) {
      const rows = await service.sql<{ type: string }[]>`
        SELECT type FROM order_events WHERE order_number = ${order_number} ORDER BY sequence`;
      return rows.map(({ type }) => type);
    },

    /** The number of stored callbacks about this payment or order. */
    async stored(about: string): Promise<number> {
      const rows = await service.sql`
        SELECT 1 FROM gateway_callbacks WHERE strpos(body, ${about}) > 0`;
      return rows.length;
    },

    /** Sends the callbacks that were held back, and waits until they have arrived. */
    async release(order: 'as_created' | 'reversed'): Promise<void> {
      await simulator(service, 'POST', '/callbacks/release', { order });
      await simulator(service, 'POST', '/callbacks/idle');
    },

    /** Makes a payment whose callbacks are held back. */
    async aPaymentNotYetHeardOf(attempt: { vpa?: string } = {}) {
      const { order, gatewaySessionId } = await anOrderBeingPaid();
      await hold();
      const paymentId = await payAtGateway(service, gatewaySessionId, attempt);
      const [callback] = await callbacksAbout(paymentId);
      return { order, gatewaySessionId, paymentId, body: callback?.body ?? '' };
    },

    /** The bodies of all callbacks about this payment, order or session, in the order of their events. */
    async bodiesAbout(about: string): Promise<string[]> {
      return (await callbacksAbout(about)).map(({ body }) => body);
    },

    callBack(body: string, options: CallBackOptions = {}): Promise<Response> {
      const { signature = sign(body), environment = 'sandbox', origin = service.origin } = options;
      return fetch(`${origin}/callbacks/razorpay/${environment}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(signature !== null && { 'x-razorpay-signature': signature }),
        },
        body,
      });
    },
  };
}
export type CallbackKit = ReturnType<typeof createCallbackKit>;

/** The `test` of a file about callbacks: both environments have a gateway, and `kit` calls back. */
export function callbackTest() {
  const test = serviceTest({
    time: 'real',
    productionGateway: true,
    merchant: { webhooks: false, linkedAccountId: 'acc_Asha' },
  }).extend('kit', { scope: 'file' }, ({ service, merchant }) =>
    createCallbackKit(service, merchant),
  );
  test.afterEach(async ({ service }) => {
    await simulator(service, 'PATCH', '/callbacks', { hold: false });
    await service.clock.set(0);
  });
  return test;
}
