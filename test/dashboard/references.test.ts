import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import { madeAtGateway, payAtGateway, sessionOf } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', merchant: {} });

interface Shop {
  service: TestService;
  merchant: Merchant;
}

async function paymentOf({ merchant }: Shop, order: Order): Promise<string> {
  await merchant.sandbox.help(order, 'pay');
  return (await merchant.sandbox.read(order)).payment?.gateway_payment_id ?? '';
}

/** The id of a request that answered as it should. */
function idOf({ headers, status }: { headers: Headers; status: number }): string {
  expect(status).toBeLessThan(300);
  return headers.get('X-Request-Id') ?? '';
}

/** The id of the refund of a payment, once the gateway has reported it. */
async function reportedRefund(shop: Shop, payment: string) {
  const first = () => madeAtGateway(shop.service, payment, 'refunds').then(([made]) => made?.id);
  await until(first);
  const id = (await first()) ?? '';
  await until(async () => {
    const { sql } = shop.service;
    return (await sql`SELECT FROM gateway_callbacks WHERE named_ids @> ${[id]}`).length > 0;
  });
  return id;
}

/** What a person may have in the hand, of an order of its own. */
const REFERENCES: Record<string, (shop: Shop, order: Order) => Promise<string | undefined>> = {
  'of the request that opened a payment session': async ({ merchant }, order) =>
    idOf(await merchant.sandbox.openSession(order)),
  "of the buyer's request for a payment session": async (_, { payment_url }) => {
    const headers = { 'Sec-Fetch-Site': 'same-origin', 'X-Request-Id': randomUUID() };
    const answer = await fetch(`${payment_url}/sessions`, { method: 'POST', headers });
    return idOf(answer);
  },
  'of a command': async ({ merchant }, order) =>
    idOf(await merchant.sandbox.command(order, 'cancel')),
  'of a payment': paymentOf,
  'of a payment that failed': async ({ service, merchant }, order) => {
    await merchant.sandbox.openSession(order);
    const { gatewaySessionId } = await sessionOf(service, order);
    const payment = await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    const { sql } = service;
    const { order_number } = order;
    await until(
      async () =>
        (
          await sql`SELECT FROM order_events WHERE order_number = ${order_number} AND type = 'PAYMENT_FAILED'`
        ).length > 0,
    );
    return payment;
  },
  'of a UTR': async (shop, order) => {
    await paymentOf(shop, order);
    return (await shop.merchant.sandbox.read(order)).payment?.utr ?? undefined;
  },
  'of a refund': async (shop, order) => {
    const payment = await paymentOf(shop, order);
    await shop.merchant.sandbox.command(order, 'refund', { reason: 'Sold out' });
    return reportedRefund(shop, payment);
  },
  'of a chargeback': async (shop, order) => {
    await paymentOf(shop, order);
    await shop.merchant.sandbox.help(order, 'chargeback', { outcome: 'open' });
    const { sql } = shop.service;
    const rows = () => sql<{ reversalId: string }[]>`
      SELECT reversal_id FROM gateway_reversals WHERE order_number = ${order.order_number}`;
    await until(async () => (await rows()).length > 0);
    return (await rows())[0]?.reversalId;
  },
  'of an event': async ({ service: { sql } }, { order_number }) => {
    const [event] = await sql<{ eventId: string }[]>`
      SELECT event_id FROM order_events WHERE order_number = ${order_number}`;
    return event?.eventId;
  },
  'of a delivery': async ({ service: { sql } }, { order_number }) => {
    const [delivery] = await sql<{ deliveryId: string }[]>`
      SELECT delivery_id FROM webhook_deliveries JOIN order_events USING (event_id)
      WHERE order_number = ${order_number}`;
    return delivery?.deliveryId;
  },
};

describe('an operator finds the order by the reference', () => {
  test.for(Object.entries(REFERENCES))(
    '%s',
    async ([_what, make], { service, merchant, operators }) => {
      const order = await merchant.sandbox.create();
      await merchant.sandbox.create();
      const reference = (await make({ service, merchant }, order)) ?? '';
      expect(reference).not.toBe('');
      const { body } = await operators.support.get(`/operator/orders?text=${reference}`);
      expect(body.match(/ORD[0-9A-Z]{26}/g)).toContain(order.order_number);
      expect(new Set(body.match(/ORD[0-9A-Z]{26}/g)).size).toBe(1);
    },
  );

  test('of the request that created it, which the client has chosen', async ({
    merchant,
    operators,
  }) => {
    const id = randomUUID();
    const { order_number } = await merchant.sandbox.create({}, { 'X-Request-Id': id });
    const { body } = await operators.support.get(`/operator/orders?text=${id}`);
    expect(body).toContain(order_number);
  });

  test('or reads plainly that there is none', async ({ operators }) => {
    const { body } = await operators.support.get(`/operator/orders?text=${randomUUID()}`);
    expect(body).toContain('No order matches. A request that changed no order is only in the log');
  });
});
