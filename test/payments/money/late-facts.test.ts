import { expect } from 'vitest';
import { alertOnDifferences } from '../../../src/payments/reconcile/compare-gateway.ts';
import type { OrderRef } from '../../support/api-client.ts';
import { csvRows, statementOf } from '../../ledger/statement-proof.ts';
import {
  askGateway,
  orderBeingPaid,
  reconcileLater,
  setSwitches,
  simulator,
} from '../../support/gateway.ts';
import type { Merchant } from '../../support/merchant.ts';
import { untilBlocked } from '../../support/locks.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test.beforeEach(({ service }) => service.clock.set(0));

async function utrAtGateway(service: TestService, paymentId: string): Promise<string> {
  const path = `/v1/payments/${paymentId}`;
  return (await askGateway<{ acquirer_data: { rrn: string } }>(service, 'GET', path)).acquirer_data
    .rrn;
}

/** The UTR as each reader of the merchant has it. */
async function utrsOf(service: TestService, merchant: Merchant, order: OrderRef) {
  const { sandbox } = merchant;
  const { payment } = await sandbox.read(order);
  const { entries } = await sandbox.timeline(order);
  const [{ day }] = await service.sql<[{ day: string }]>`
    SELECT indian_day(booked_at)::text AS day FROM ledger_transfers
    WHERE order_number = ${order.order_number} AND operation = 'capture'`;
  const isOfOrder = (line: Record<string, unknown>) => line['order_number'] === order.order_number;
  const { content } = await statementOf(sandbox, day);
  return {
    order: payment?.utr,
    timeline: entries.find(({ kind }) => kind === 'PAYMENT_SUCCESS')?.details?.['utr'],
    statement: content.find(isOfOrder)?.utr,
    csv: (await csvRows(service, merchant, 'sandbox', day)).find(isOfOrder)?.['utr'],
  };
}

const everywhere = (utr: string) => ({ order: utr, timeline: utr, statement: utr, csv: utr });

test('a UTR that the callback lacks and the gateway reports when it is asked is on the order and everywhere else', async ({
  service,
  merchant,
}) => {
  const order = await orderBeingPaid(service, merchant);
  await setSwitches(service, order.gatewaySessionId, { acquirerData: 'empty_list' });
  await simulator(service, 'PATCH', '/callbacks', { hold: true });
  const paymentId = await order.pay();
  await setSwitches(service, order.gatewaySessionId, { acquirerData: null });
  await simulator(service, 'PATCH', '/callbacks', { hold: false });
  await simulator(service, 'POST', '/callbacks/release');
  await order.untilStatus('PAID');
  const utr = await utrAtGateway(service, paymentId);
  expect(await utrsOf(service, merchant, order)).toEqual(everywhere(utr));
});

test.for([
  ['when it asks for the session the last time', (service: TestService) => reconcileLater(service)],
  ['in the daily comparison', (service: TestService) => alertOnDifferences(service.deps)],
] as const)(
  'a UTR that the gateway reports only after the order was paid is added %s',
  async ([_when, ask], { service, merchant }) => {
    const order = await orderBeingPaid(service, merchant);
    await setSwitches(service, order.gatewaySessionId, { acquirerData: 'empty_list' });
    const paymentId = await order.pay();
    await order.untilStatus('PAID');
    expect((await order.read()).payment?.utr).toBeNull();
    await setSwitches(service, order.gatewaySessionId, { acquirerData: null });
    await service.clock.advance(2 * 3_600_000);
    await ask(service);
    const utr = await utrAtGateway(service, paymentId);
    expect(await utrsOf(service, merchant, order)).toEqual(everywhere(utr));
  },
);

test('a UTR or refund that is recorded between the read and the step of a command is in its webhook', async ({
  service,
  merchant,
  orders,
}) => {
  const { orderNumber } = await orders.in('PAID');
  const { answer } = await service.sql.begin(async (sql) => {
    await sql`UPDATE orders SET payment_utr = 'UTR_LATE', reversed_paise = 100 WHERE order_number = ${orderNumber}`;
    const asked = merchant.sandbox.post(`/orders/${orderNumber}/deliver`, { trackingId: 'IN1' });
    await untilBlocked(service, 'record_step');
    return { answer: asked };
  });
  const shown = { utr: 'UTR_LATE', reversed_amount: 1 };
  expect((await answer).body.data.payment).toMatchObject(shown);
  const [event] = await service.sql<[{ body: string }]>`
    SELECT body FROM order_events WHERE order_number = ${orderNumber} AND type = 'DELIVERY_CONFIRMED'`;
  expect(JSON.parse(event.body).data.payment).toMatchObject(shown);
});
