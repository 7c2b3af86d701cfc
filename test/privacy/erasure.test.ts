import { expect } from 'vitest';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import { compareOrders } from '../../src/orders/wake/compare-orders.ts';
import { searchAllOrders } from '../../src/orders/lists/search-orders.ts';
import { orderSchema } from '../../src/orders/schemas.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { StepDetails } from '../../src/domain/order.ts';
import { writeCallback } from '../../src/payments/captures/capture-queries.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { auditOf } from '../support/audit.ts';
import { ledgerOf, sessionOf } from '../support/gateway.ts';
import { dashboardTest } from '../dashboard/dashboard-test.ts';
import {
  canaryBuyer,
  cancelledOrder,
  completedOrder,
  findCanary,
  keysOf,
  plantElsewhere,
  refundedOrder,
  untilWebhooksEnded,
} from './canaries.ts';
import { columnsOf } from './columns.ts';

const REASON = 'Request 4711 of the buyer';
const DECISION = 'The parcel was empty, as the photograph shows';
/** What the details of a step can have from the domain. */
const FACTS: Required<StepDetails> = {
  seconds: 60,
  until: '2026-11-29',
  by: 'expiry',
  for: 'buyer',
};
const NO_DATA = {
  buyer: { email: '', name: '', phone: '' },
  description: '',
  payment_url: '',
};

const test = dashboardTest({ time: 'real' }).extend(
  'erased',
  { scope: 'file' },
  async ({ service, merchant, cli }) => {
    const parts = { service, merchant, cli };
    const buyer = canaryBuyer();
    const refunded = await refundedOrder(parts, buyer, DECISION);
    const orders = [
      refunded,
      await cancelledOrder(parts, buyer),
      await completedOrder(parts, buyer),
    ];
    await untilWebhooksEnded(service, orders);
    await plantElsewhere(parts, refunded, buyer);
    await service.sql`
      UPDATE order_steps SET details = ${service.sql.json({ ...FACTS })}
      WHERE order_number = ${refunded.order_number} AND kind = 'DISPUTE_RAISED'`;
    const before = {
      ledger: await ledgerOf(service, refunded.order_number),
      order: await merchant.sandbox.read(refunded),
      timeline: await merchant.sandbox.timeline(refunded),
      columns: await columnsWith(service.sql, buyer.canary),
    };
    const result = await cli.json(
      'buyer',
      'erase',
      '--email',
      buyer.email.toUpperCase(),
      '--reason',
      REASON,
    );
    return { buyer, refunded, orders, before, result };
  },
);

async function columnsWith(sql: Parameters<typeof findCanary>[0], canary: string) {
  const hex = Buffer.from(canary).toString('hex');
  const found: string[] = [];
  for (const { table, column } of columnsOf('buyer')) {
    const rows = await sql`
      SELECT FROM ${sql(table)} WHERE strpos(${sql(column)}::text, ${canary}) > 0
        OR strpos(${sql(column)}::text, ${hex}) > 0 LIMIT 1`;
    if (rows.length > 0) found.push(`${table}.${column}`);
  }
  return found;
}

test('a buyer’s data was in every column that can have it, and is in none after the erasure', async ({
  service,
  erased: { before, buyer, result, orders },
}) => {
  const expected = columnsOf('buyer').map(({ table, column }) => `${table}.${column}`);
  // The phone number and the decision have texts of their own.
  const others = ['orders.buyer_phone', 'disputes.decision_reason'];
  expect([...before.columns, ...others].toSorted()).toEqual(expected.toSorted());
  expect(result).toMatchObject({ erased: 3, refused: 0 });
  expect(orders).toHaveLength(3);
  expect(await findCanary(service.sql, buyer)).toEqual({});
  for (const { table, column } of columnsOf('derived')) {
    const rows = await service.sql`
      SELECT FROM ${service.sql(table)} WHERE erased_at IS NOT NULL AND ${service.sql(column)} <> ''`;
    expect(rows).toHaveLength(0);
  }
});

test('an erased order keeps its ids, amounts, times and ledger, in the published shape', async ({
  service,
  merchant,
  erased: { refunded, before },
}) => {
  const order = await merchant.sandbox.read(refunded);
  expect(orderSchema.parse(order)).toEqual({
    ...before.order,
    ...NO_DATA,
    return_url: undefined,
    dispute: {
      ...before.order.dispute,
      reason: '',
      evidence: null,
      decision: { ...before.order.dispute?.decision, reason: '' },
    },
  });
  expect(await ledgerOf(service, refunded.order_number)).toEqual(before.ledger);
  expect(await verifyLedger(service.sql)).toMatchObject({ ok: true });
});

test('the timeline keeps every step without its texts, and ends with the erasure', async ({
  merchant,
  erased: { refunded, before },
}) => {
  const { entries } = await merchant.sandbox.timeline(refunded);
  expect(entries.map(({ kind }) => kind)).toEqual([
    ...before.timeline.entries.map(({ kind }) => kind),
    'ORDER_ERASED',
  ]);
  const paid = entries.find(({ kind }) => kind === 'PAYMENT_SUCCESS');
  expect(Object.keys(paid?.details ?? {})).toEqual(['utr', 'gateway_payment_id']);
  const delivered = entries.find(({ kind }) => kind === 'DELIVERY_CONFIRMED');
  expect(delivered?.details).toBeNull();
  const raised = entries.find(({ kind }) => kind === 'DISPUTE_RAISED');
  expect(raised?.details).toEqual(FACTS);
});

test('the audit list says who erased each order and why, and who has given it which command', async ({
  service,
  merchant,
  erased: { orders, refunded },
}) => {
  const audit = await auditOf(service.sql, merchant.merchantId);
  const erasures = audit.filter(({ action }) => action === 'order.erase');
  expect(erasures).toHaveLength(orders.length);
  for (const { actor, details } of erasures) {
    expect({ actor, details }).toEqual({
      actor: expect.stringMatching(/^cli:/),
      details: { reason: REASON },
    });
  }
  const decision = audit.find(
    ({ action, subject }) => action === 'dispute.decide' && subject === refunded.order_number,
  );
  expect(decision).toMatchObject({
    actor: expect.stringMatching(/^cli:/),
    outcome: 'DONE',
    reason: '',
    details: { commandId: expect.any(String) },
  });
  const ofKey = await service.sql`
    SELECT DISTINCT body, reason, address FROM order_commands
    WHERE order_number = ${refunded.order_number} AND actor LIKE 'key:%'`;
  expect(ofKey).toEqual([{ body: {}, reason: '', address: '' }]);
});

test('a repeated request with an Idempotency-Key is answered with the erased order', async ({
  merchant,
  erased: { buyer, refunded },
}) => {
  const api = merchant.sandbox;
  const keys = keysOf(buyer);
  const created = await api.post(
    '/orders',
    {
      amount: 100,
      buyerEmail: 'b@example.com',
      buyerPhone: '+919876543210',
      description: 'Another',
    },
    keys.create,
  );
  expect([created.status, created.headers.get('Idempotent-Replayed')]).toEqual([201, 'true']);
  expect(created.headers.get('Idempotency-Key-Mismatch')).toBeNull();
  expect(created.body.data).toMatchObject({ order_number: refunded.order_number, ...NO_DATA });
  const delivered = await api.command(refunded, 'deliver', { note: 'Something' }, keys.deliver);
  expect([delivered.status, delivered.headers.get('Idempotent-Replayed')]).toEqual([200, 'true']);
  expect(delivered.headers.get('Idempotency-Key-Mismatch')).toBeNull();
  const session = await api.openSession(refunded, keys.session);
  expect([session.status, session.body.data.status, session.body.data.upi_intent]).toEqual([
    200,
    'paid',
    '',
  ]);
});

test('no search by the buyer finds an erased order; the list of all orders shows it', async ({
  service,
  merchant,
  owner,
  erased: { buyer, orders },
}) => {
  const listed = async (query: string) => {
    const { body } = await merchant.sandbox.get<{ content: Order[]; totalElements: number }>(
      `/orders?size=100${query}`,
    );
    return body.data.content.map(({ order_number }) => order_number);
  };
  expect(await listed(`&buyerEmail=${buyer.email}`)).toEqual([]);
  expect(await listed('')).toEqual(
    expect.arrayContaining(orders.map(({ order_number }) => order_number)),
  );
  for (const text of [buyer.email, buyer.phone]) {
    const found = await searchAllOrders(service.sql, { text }, { skip: 0, limit: 1 });
    expect(found.rows).toEqual([]);
  }
  const page = await owner.get(`/dashboard/sandbox/orders?q=${encodeURIComponent(buyer.email)}`);
  expect(page.body).toContain('No order matches.');
});

test('pages, the CSV file and the command line show that the data was erased', async ({
  cli,
  owner,
  operators,
  erased: { refunded },
}) => {
  const { order_number: orderNumber } = refunded;
  for (const [browser, path] of [
    [owner, '/dashboard/sandbox/orders'],
    [owner, `/dashboard/sandbox/orders/${orderNumber}`],
    [operators.support, `/operator/orders?text=${orderNumber}`],
    [operators.support, `/operator/orders/${orderNumber}`],
    [operators.support, `/operator/disputes/${orderNumber}`],
  ] as const) {
    expect((await browser.get(path)).body, path).toContain('Erased');
  }
  const csv = (await owner.get('/dashboard/sandbox/orders.csv')).body;
  expect(csv.split('\r\n').find((row) => row.startsWith(orderNumber))).toContain(
    'Erased,Erased,Erased,"=""Erased"""',
  );
  expect((await cli.run('order', 'show', '--order', orderNumber)).stdout).toMatch(/Buyer +Erased/);
});

test('a webhook of an erased order cannot be sent again', async ({
  service,
  merchant,
  cli,
  owner,
  erased: { refunded },
}) => {
  const deliveries = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM order_events JOIN webhook_deliveries USING (event_id)
    WHERE order_number = ${refunded.order_number}`;
  const deliveryId = deliveries[0]?.deliveryId ?? '';
  const received = merchant.receiver.received.length;
  const refusal = `The event of ${deliveryId} cannot be sent again: the buyer's data was erased`;
  expect(await cli.refusal('delivery', 'retry', '--delivery', deliveryId)).toBe(refusal);
  const path = `/dashboard/sandbox/deliveries/${deliveryId}`;
  const page = await owner.get(path);
  expect(page.body).toContain('it cannot be sent again');
  expect(page.body).not.toContain('Send it again');
  const resent = await owner.post(`${path}/resend`, {});
  expect(resent.status).toBe(400);
  expect(resent.body).toContain('cannot be sent again');
  const chosen = await owner.post('/dashboard/sandbox/deliveries/resend', {
    'deliveries[]': deliveryId,
  });
  expect(chosen.body).toContain('cannot be sent again');
  expect(merchant.receiver.received).toHaveLength(received);
});

test('the buyer’s page of an erased order is not found', async ({
  service,
  erased: { before },
}) => {
  const token = before.order.payment_url.split('/').at(-1);
  expect((await fetch(`${service.origin}/pay/${token}`)).status).toBe(404);
});

test('what is received later brings no data back: callbacks, commands, recovery, comparison', async ({
  service,
  merchant,
  cli,
  erased: { buyer, refunded },
}) => {
  const { sql } = service;
  const { gatewaySessionId } = await sessionOf(service, refunded);
  const body = JSON.stringify({ id: gatewaySessionId, vpa: `${buyer.canary}@upi` });
  const callback = { gateway: 'razorpay', environment: 'sandbox', event: 'late' } as const;
  await writeCallback(sql, { ...callback, eventId: 'evt_late', body, reports: null });
  const { status } = await merchant.sandbox.command(refunded, 'refund', {
    reason: `${buyer.canary} again`,
  });
  expect(status).toBe(400);
  const late = {
    orderNumber: refunded.order_number,
    commandId: 'cmd_late',
    name: 'refund',
  } as const;
  const origin = { actor: TEST_ACTOR, reason: buyer.canary };
  await writeCommand(sql, { ...late, body: { text: buyer.canary }, origin });
  expect(await cli.json('order', 'recover', '--order', refunded.order_number)).toMatchObject({
    outcome: 'final',
  });
  const compared = await compareOrders(service.deps);
  expect(compared.woken).toBe(0);
  expect(await findCanary(sql, buyer)).toEqual({});
});

test('an order that was erased is not erased again', async ({
  service,
  merchant,
  cli,
  erased: { refunded },
}) => {
  const erase = ['order', 'erase', '--order', refunded.order_number, '--reason', REASON];
  expect(await cli.json(...erase)).toMatchObject({ outcome: 'erased_before' });
  const audit = await auditOf(service.sql, merchant.merchantId);
  const rows = audit.filter(
    ({ action, subject }) => action === 'order.erase' && subject === refunded.order_number,
  );
  expect(rows).toHaveLength(1);
});
