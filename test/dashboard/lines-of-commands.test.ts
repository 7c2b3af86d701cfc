import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { AuditEntry } from '../../src/merchants/audit-log.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import { post } from '../checkout/buyer.ts';
import type { OrderRef } from '../support/api-client.ts';
import type { TestService } from '../support/service.ts';
import { dashboardTest } from './dashboard-test.ts';

const REASON = 'It never arrived, after three weeks.';

const test = dashboardTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

const linesOf = async ({ sql }: TestService, { order_number: orderNumber }: OrderRef) =>
  (await listAudit(sql, { orderNumber }, 100)).entries.toReversed();
const shownOf = ({ action, actor, outcome }: AuditEntry) => [action, actor, outcome];

describe('each command has one line that names its person', () => {
  test('a merchant’s key: with address, request and outcome', async ({ service, merchant }) => {
    const api = merchant.sandbox;
    const key = `key:${merchant.keys.sandbox.apiKey}`;
    const order = await api.create();
    const requestId = randomUUID();
    await api.call(
      'POST',
      `/orders/${order.order_number}/cancel`,
      { reason: 'Typo' },
      {
        'X-Request-Id': requestId,
      },
    );
    expect(await linesOf(service, order)).toEqual([
      {
        id: expect.any(String),
        at: expect.any(Date),
        actor: key,
        address: '127.0.0.1',
        requestId,
        action: 'order.cancel',
        outcome: 'DONE',
        merchantId: merchant.merchantId,
        subject: order.order_number,
        reason: 'Typo',
        details: { commandId: expect.stringMatching(/^cmd_/), reason: 'Typo' },
      },
    ]);
    const disputed = await api.create();
    for (const helper of ['pay', 'advance'] as const) {
      await api.help(disputed, helper, { seconds: 1 });
    }
    await api.command(disputed, 'deliver');
    await api.help(disputed, 'dispute', { reason: REASON });
    await api.command(disputed, 'dispute/evidence', { text: 'Signed for' });
    await api.command(disputed, 'dispute/resolve', { resolution: 'A new one' });
    await api.command(disputed, 'refund', { reason: 'Sold out' });
    const lines = await linesOf(service, disputed);
    // The gateway's results are lines of steps.
    expect(lines.filter(({ actor }) => actor !== 'service').map(shownOf)).toEqual([
      ['order.pay', key, 'DONE'],
      ['order.advance', key, 'DONE'],
      ['order.deliver', key, 'DONE'],
      ['dispute.raise', key, 'DONE'],
      ['dispute.evidence', key, 'DONE'],
      ['dispute.resolve', key, 'DONE'],
      ['order.refund', key, 'DONE'],
    ]);
  });

  test('a user of the dashboard, a buyer, and an operator', async ({
    service,
    merchant,
    owner,
    operators,
    orders,
  }) => {
    const paid = await orders.in('PAID');
    const path = `/dashboard/sandbox/orders/${paid.orderNumber}/deliverOrder`;
    await owner.post(path, { idempotencyKey: randomUUID() });
    const { payment_url } = await merchant.sandbox.read(paid);
    await post(`${payment_url}/dispute`, { reason: REASON });
    await operators.finance.post(`/operator/orders/${paid.orderNumber}/decide`, {
      winner: 'buyer',
      reason: 'No proof',
      confirmed: 'yes',
    });
    await paid.untilStatus('REFUNDED');
    const lines = (await linesOf(service, paid)).filter(({ actor }) => actor !== 'service');
    expect(lines.map(shownOf)).toEqual([
      ['order.deliver', expect.stringMatching(/^merchant:.*@shop\.example$/), 'DONE'],
      ['dispute.raise', 'buyer', 'DONE'],
      ['dispute.decide', expect.stringMatching(/^operator:.*@ops\.example$/), 'DONE'],
    ]);
    const admin = (await operators.support.get(`/operator/orders/${paid.orderNumber}`)).body;
    expect(admin).toMatch(/ · [^<]*@shop\.example <span class="hint">Merchant's user</);
    expect(admin).toContain(' · The buyer');
    expect(admin).toMatch(/ · [^<]*@ops\.example <span class="hint">Operator</);
    // The merchant reads which user it was, but no operator's name.
    const { body } = await owner.get(`/dashboard/sandbox/orders/${paid.orderNumber}`);
    expect(body).toMatch(/by [^<]*@shop\.example</);
    expect(body).toContain('by the buyer<');
    expect(body).toContain('by an operator<');
    expect(body).not.toContain('@ops.example');
    for (const line of lines) {
      expect(line).toMatchObject({ address: '127.0.0.1', requestId: expect.any(String) });
    }
  });
});

test('a payment and a deadline are lines of their steps, by no person', async ({
  service,
  orders,
}) => {
  const order = await orders.in('PAID');
  expect((await linesOf(service, order)).map(shownOf)).toEqual([
    ['PAYMENT_SUCCESS', 'service', null],
  ]);
});

test('a refused command is a line, and so is its repeat with the same key', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('ACCEPTED');
  const key = { 'Idempotency-Key': randomUUID() };
  for (const _ of [1, 2]) {
    const answer = await merchant.sandbox.command(order, 'refund', { reason: 'Gone' }, key);
    expect(answer.status).toBe(400);
    expect((await merchant.sandbox.help(order, 'dispute', { reason: REASON })).status).toBe(400);
  }
  const actor = `key:${merchant.keys.sandbox.apiKey}`;
  expect((await linesOf(service, order)).map(shownOf)).toEqual([
    ['order.refund', actor, 'REFUSED'],
    ['dispute.raise', actor, 'REFUSED'],
    ['order.refund', actor, 'REFUSED'],
    ['dispute.raise', actor, 'REFUSED'],
  ]);
});

test('only a command on an order of one’s own writes a line', async ({
  service,
  merchant,
  owner,
  visitor,
}) => {
  const other = await service.newMerchant({ webhooks: false });
  const order = await merchant.sandbox.create();
  const path = `/dashboard/sandbox/orders/${order.order_number}/cancelOrder`;
  const foreign = await other.sandbox.create();
  const foreignPath = `/dashboard/sandbox/orders/${foreign.order_number}/cancelOrder`;
  const noKey = { 'X-API-Key': 'mk_test_none' };
  const refused = [
    (await other.sandbox.command(order, 'cancel')).status,
    (await merchant.sandbox.command({ order_number: 'ORDX' }, 'cancel')).status,
    (await merchant.sandbox.command(order, 'cancel', undefined, noKey)).status,
    (await owner.post(foreignPath, { idempotencyKey: 'k' })).status,
    (await visitor.post(path, { idempotencyKey: 'k' })).status,
    (await post(`${service.origin}/pay/none/dispute`, { reason: REASON })).status,
    // What fails validation is no command.
    (await merchant.sandbox.command(order, 'refund', { reason: '' })).status,
  ];
  expect(refused).toEqual([403, 404, 401, 404, 303, 404, 400]);
  expect(await linesOf(service, order)).toEqual([]);
  expect(await linesOf(service, foreign)).toEqual([]);
  const rows = await service.sql`SELECT FROM order_commands
    WHERE order_number IN (${order.order_number}, ${foreign.order_number})`;
  expect(rows).toHaveLength(0);
});
