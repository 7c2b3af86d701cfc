import { expect } from 'vitest';
import { mayDo } from '../../src/accounts/people/permissions.ts';
import { clearAlert, listAlerts, raiseAlert } from '../../src/alerts/alerts.ts';
import type { AlertKind } from '../../src/alerts/kinds.ts';
import type { ActionName } from '../../src/dashboard/operator/action-declarations.ts';
import { ORDER_ACTIONS } from '../../src/dashboard/operator/action-declarations.ts';
import type { Sql } from '../../src/db/client.ts';
import { carryOutUnfinished } from '../../src/proposals/carry-out.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import type { DirectOrder } from '../support/orders.ts';
import { approvedBy, proposalOf } from '../support/proposals.ts';
import type { TestService } from '../support/service.ts';
import { operatorUser, signIn } from '../support/users.ts';
import { until } from '../support/until.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

const ROLES = ['support', 'finance', 'admin'] as const;
const NAMES = Object.keys(ORDER_ACTIONS) as ActionName[];
const REASON = 'The courier has "proof" <of> delivery';
const HOUR_MS = 3_600_000;
const REFUNDS = { kind: 'error', path: '/v1/payments/*/refund' } as const;

const test = dashboardTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

/** No order of an earlier test waits for the gateway or for its workflow. */
test.beforeEach(async ({ service: { sql, clock } }) => {
  await clock.set(0);
  await sql`UPDATE payments SET held_at = now() WHERE held_at IS NULL`;
  await sql`DELETE FROM order_wakeups`;
});

/** What operators have done, oldest first. */
const auditOf = async (sql: Sql, subject: string) =>
  (await listAudit(sql, { subject }, 100)).entries
    .filter(({ actor, action }) => actor.startsWith('operator:') && action !== 'buyer.view')
    .map(({ action, actor, address }) => ({ action, actor, address }))
    .toReversed();
const pathOf = (orderNumber: string, name: string) => `/operator/orders/${orderNumber}/${name}`;
const byOperator = (action: string) => ({
  action,
  actor: expect.stringMatching(/^operator:.*@ops\.example$/),
  address: '127.0.0.1',
});

/** Carries out what was approved. It acts as if a request of unknown outcome had been sent more than a minute before. */
const whenSettled = ({ sql, deps }: TestService, order: DirectOrder) =>
  until(async () => {
    await sql`UPDATE payments SET money_unknown_until = NULL WHERE order_number = ${order.orderNumber}`;
    await carryOutUnfinished(deps, 0);
    return (await order.row()).status === 'REFUNDED';
  });

test('each role is shown the forms of the actions that it may take', async ({
  operators,
  orders,
}) => {
  const { orderNumber } = await orders.in('PAID');
  for (const role of ROLES) {
    for (const name of NAMES) {
      const shown = await operators[role].get(pathOf(orderNumber, name));
      const isAllowed = mayDo(role, ORDER_ACTIONS[name].permission);
      expect([role, name, shown.status]).toEqual([role, name, isAllowed ? 200 : 403]);
      expect(shown.body).toContain(
        isAllowed
          ? `action="${pathOf(orderNumber, name)}"`
          : `Your role, ${role}, does not allow this`,
      );
    }
  }
});

test('an order that does not exist is 404', async ({ operators }) => {
  expect((await operators.admin.get('/operator/orders/ORD0')).status).toBe(404);
  expect((await operators.admin.get('/operator/disputes/ORD0')).status).toBe(404);
  const { status } = await operators.admin.post(pathOf('ORD0', 'refund'), { reason: 'x' });
  expect(status).toBe(404);
});

test('the page of an order links to what its state and the role allow', async ({
  operators,
  orders,
}) => {
  const { orderNumber } = await orders.in('PAID');
  const linked = async (browser: (typeof operators)['admin']) => {
    const { body } = await browser.get(`/operator/orders/${orderNumber}`);
    return NAMES.filter((name) => body.includes(`href="${pathOf(orderNumber, name)}"`));
  };
  expect(await linked(operators.support)).toEqual(['recover', 'dispute']);
  expect(await linked(operators.finance)).toEqual(['recover', 'dispute']);
  await orders.suspendMerchant();
  expect(await linked(operators.support)).toEqual(['recover', 'dispute']);
  expect(await linked(operators.finance)).toEqual(['recover', 'dispute', 'refund']);
});

test('a decision is confirmed with what will happen, then both sides can read it', async ({
  service,
  operators,
  orders,
}) => {
  const order = await orders.in('DISPUTE_UNDER_REVIEW');
  const path = pathOf(order.orderNumber, 'decide');
  const dispute = await operators.finance.get(`/operator/disputes/${order.orderNumber}`);
  expect(dispute.body).toContain(`action="${path}"`);
  const asSupport = await operators.support.get(`/operator/disputes/${order.orderNumber}`);
  expect(asSupport.body).not.toContain(`action="${path}"`);
  expect(asSupport.body).toContain('An operator with the role finance or admin decides');

  const fields = { winner: 'buyer', reason: REASON };
  const confirmation = await operators.finance.post(path, fields);
  expect(confirmation.status).toBe(200);
  expect(confirmation.body).toContain(
    'Decided for the buyer: ₹499.50 goes back to the buyer, and the order becomes REFUNDED.',
  );
  expect(confirmation.body).toContain(
    'The courier has &quot;proof&quot; &lt;of> delivery</blockquote>',
  );
  expect((await order.row()).status).toBe('DISPUTE_UNDER_REVIEW');
  expect(await auditOf(service.sql, order.orderNumber)).toEqual([]);

  const decided = await operators.finance.post(path, { ...fields, confirmed: 'yes' });
  expect(decided.location).toBe(`/operator/disputes/${order.orderNumber}?done=decide`);
  await order.untilStatus('REFUNDED');
  expect(await order.row()).toMatchObject({ disputeDecisionReason: REASON });
  expect(await auditOf(service.sql, order.orderNumber)).toEqual([byOperator('dispute.decide')]);
  const { body } = await operators.finance.get(decided.location ?? '');
  expect(body).toContain('The dispute is decided.');
});

test('a decision without a reason or a side is refused at its field, with what was typed', async ({
  operators,
  orders,
}) => {
  const { orderNumber } = await orders.in('DISPUTE_UNDER_REVIEW');
  const path = pathOf(orderNumber, 'decide');
  const blank = await operators.finance.post(path, { winner: 'merchant', reason: ' ' });
  expect(blank.status).toBe(400);
  expect(blank.body).toContain('id="reason-violation">The reason must not be blank');
  expect(blank.body).toContain('<option value="merchant" selected');
  const sideless = await operators.finance.post(path, { reason: REASON });
  expect(sideless.status).toBe(400);
  expect(sideless.body).toContain('Choose for whom the dispute is decided');
  expect(sideless.body).toContain('&quot;proof&quot; &lt;of> delivery</textarea>');
});

test('a dispute is raised for the buyer, with the rules of a dispute of the buyer', async ({
  service,
  operators,
  orders,
}) => {
  const order = await orders.in('PAID');
  const path = pathOf(order.orderNumber, 'dispute');
  const short = await operators.support.post(path, { reason: 'short' });
  expect(short.status).toBe(400);
  expect(short.body).toContain('id="reason-violation">The reason ');
  const reason = 'The buyer called: it never arrived';
  const raised = await operators.support.post(path, { reason });
  expect(raised.location).toBe(`/operator/orders/${order.orderNumber}?done=dispute`);
  expect(await order.row()).toMatchObject({ status: 'DISPUTE_OPEN', disputeReason: reason });
  expect(await auditOf(service.sql, order.orderNumber)).toEqual([byOperator('dispute.raise')]);
});

test('support raises ten disputes in 24 hours, also when it raises more at the same moment', async ({
  service: { sql, clock, origin },
  operators,
  orders,
}) => {
  const { userId, cookie } = await operatorUser(sql, 'support');
  const reason = 'The buyer called: it never arrived';
  const raise = (browser: Pick<(typeof operators)['admin'], 'post'>, orderNumber: string) =>
    browser.post(pathOf(orderNumber, 'dispute'), { reason });
  const paid = await Promise.all(Array.from({ length: 12 }, () => orders.in('PAID')));
  const numbers = paid.map(({ orderNumber }) => orderNumber);
  const support = browserOf(origin, { cookie });
  const answers = await Promise.all(numbers.map((one) => raise(support, one)));
  const refused = answers.filter(({ location }) => !location?.includes('done=dispute'));
  expect(refused.map(({ status }) => status)).toEqual([400, 400]);
  expect(refused[0]?.body).toContain('you have raised 10 in 24 hours');
  const lines = await sql`
    SELECT state, count(*)::int AS count FROM order_commands
    WHERE name = 'dispute' AND order_number = ANY(${numbers}) GROUP BY state ORDER BY state`;
  expect(lines).toEqual([
    { state: 'DONE', count: 10 },
    { state: 'REFUSED', count: 2 },
  ]);
  const inFinance = await raise(operators.finance, (await orders.in('PAID')).orderNumber);
  expect(inFinance.location).toContain('done=dispute');
  await clock.set(24 * HOUR_MS);
  const { orderNumber } = await orders.in('PAID');
  const nextDay = browserOf(origin, { cookie: await signIn(sql, userId) });
  expect((await raise(nextDay, orderNumber)).location).toContain('done=dispute');
});

test('a refund is confirmed, and refused in a status that has none', async ({
  service,
  operators,
  owner,
  orders,
}) => {
  const order = await orders.in('PAID');
  const path = pathOf(order.orderNumber, 'refund');
  const early = await operators.finance.post(path, { reason: 'Too slow', confirmed: 'yes' });
  expect(early.body).toContain('it is approved and can refund the order itself');
  await orders.suspendMerchant();
  const confirmation = await operators.finance.post(path, { reason: 'The shop has closed' });
  expect(confirmation.body).toContain('₹499.50 goes back to the buyer');
  await operators.finance.post(path, { reason: 'The shop has closed', confirmed: 'yes' });
  await order.untilStatus('REFUNDED');
  expect(await auditOf(service.sql, order.orderNumber)).toEqual([byOperator('order.refund')]);
  const again = await operators.finance.post(path, { reason: 'Again' });
  expect(again.status).toBe(400);
  expect(again.body).toContain('Cannot refund; order must be in PAID or DELIVERED status');
  const shown = await owner.get(`/dashboard/sandbox/orders/${order.orderNumber}`);
  expect(shown.body).toContain('An operator started the refund for the merchant');
});

test('a stuck refund is on the work queue, is retried now, and is settled with its UTR', async ({
  service,
  operators,
  orders,
  gateway,
}) => {
  await gateway.addFault(REFUNDS);
  const order = await orders.in('DISPUTE_OPEN');
  await order.update('accept');
  await order.untilStep('REFUND_STARTED');
  const { orderNumber } = order;
  await service.clock.set(6 * 60_000);
  const work = async () => (await operators.support.get('/operator')).body;
  const retryLink = `href="${pathOf(orderNumber, 'retry')}"`;
  // Between two tries: while one runs, there is nothing to retry.
  await until(async () => /Refund of the buyer[^]*next try/.test(await work()));
  await until(async () => (await work()).includes(retryLink));
  expect(await work()).not.toContain(`href="${pathOf(orderNumber, 'settle')}"`);
  const asFinance = await operators.finance.get('/operator');
  expect(asFinance.body).toContain(`href="${pathOf(orderNumber, 'settle')}"`);

  const page = async () => (await operators.support.get(`/operator/orders/${orderNumber}`)).body;
  await until(async () => (await page()).includes(retryLink));
  // The next try may have begun since the page was read: then there is nothing to retry until it has failed.
  await until(async () => {
    const retry = { reason: 'The bank has answered' };
    const { location } = await operators.support.post(pathOf(orderNumber, 'retry'), retry);
    return location === `/operator/orders/${orderNumber}?done=retry`;
  });

  const fields = { outcome: '', reference: 'UTR 4711', reason: 'The gateway refuses' };
  const path = pathOf(orderNumber, 'settle');
  const confirmation = await operators.finance.post(path, fields);
  expect(confirmation.body).toContain('₹499.50 counts as sent back to the buyer by you');
  expect(confirmation.body).toContain('<code>UTR 4711</code>');
  expect(confirmation.body).toContain('This needs a second operator');
  // Between two tries of the refund; while one runs, the sweep settles it later.
  const proposed = await operators.finance.post(path, { ...fields, confirmed: 'yes' });
  const { location } = await approvedBy(operators.admin, proposed);
  expect(location).toMatch(/done=(approved|waiting)$/);
  await whenSettled(service, order);
  expect(await page()).toContain('refunded, UTR 4711');
  expect(await auditOf(service.sql, orderNumber)).toEqual([
    byOperator('order.retry'),
    byOperator('proposal.open'),
    byOperator('proposal.approve'),
    { ...byOperator('order.settle'), address: expect.toBeOneOf(['127.0.0.1', null]) },
  ]);
});

test('a settlement that the gateway cannot be asked about needs a second confirmation', async ({
  service,
  operators,
  orders,
  gateway,
}) => {
  await gateway.addFault({ kind: 'error', method: 'GET' });
  const order = await orders.in('DISPUTE_OPEN');
  await order.update('accept');
  const { orderNumber } = order;
  const path = pathOf(orderNumber, 'settle');
  const fields = { outcome: 'refunded', reference: 'UTR 4712', reason: 'The gateway is away' };
  expect((await operators.finance.get(path)).body).not.toContain('name="notChecked"');
  const refused = await until(async () => {
    const { status, body } = await operators.finance.post(path, { ...fields, confirmed: 'yes' });
    expect(status).toBe(502);
    return body.includes('cannot be read') && body;
  });
  expect(refused).toContain('name="notChecked"');
  expect((await order.row()).status).toBe('DISPUTE_OPEN');

  const ticked = { ...fields, notChecked: 'on' };
  const confirmation = await operators.finance.post(path, ticked);
  expect(confirmation.body).toContain('If the gateway cannot be read, this is not checked');
  expect(confirmation.body).toContain('<input type="hidden" name="notChecked" value="on"');
  const proposed = await operators.finance.post(path, { ...ticked, confirmed: 'yes' });
  const shown = await operators.admin.get(proposalOf(proposed));
  expect(shown.body).toContain('If the gateway cannot be read, this is not checked');
  await approvedBy(operators.admin, proposed);
  await whenSettled(service, order);
  const { body } = await operators.finance.get(`/operator/orders/${orderNumber}`);
  expect(body).toContain('refunded, UTR 4712');
  expect(body).toContain('not checked at the gateway');
  expect((await auditOf(service.sql, orderNumber)).map(({ action }) => action)).toEqual([
    'proposal.open',
    'proposal.approve',
    'order.settle',
  ]);
});

test('an order without its workflow is on the work queue until it is recovered', async ({
  service,
  operators,
  orders,
}) => {
  const { orderNumber } = await orders.write();
  await service.sql`
    UPDATE order_wakeups SET written_at = written_at - interval '3 minutes'
    WHERE order_number = ${orderNumber}`;
  const work = async () => (await operators.support.get('/operator')).body;
  expect(await work()).toMatch(new RegExp(`${orderNumber}[^]*Its workflow has not begun`));
  expect(await work()).toContain(`action="${pathOf(orderNumber, 'recover')}"`);
  const recovered = await operators.support.post(pathOf(orderNumber, 'recover'));
  expect(recovered.location).toBe(`/operator/orders/${orderNumber}?done=recover`);
  await until(async () => !(await work()).includes('Its workflow has not begun'));
  expect(await auditOf(service.sql, orderNumber)).toEqual([byOperator('order.recover')]);
});

test('an alert is shown with what to do, and cleared with a reason', async ({
  service,
  operators,
  orders,
}) => {
  const { sql, log } = service;
  const { orderNumber } = await orders.in('PAID');
  await raiseAlert(
    { sql, log },
    {
      kind: 'wrong_amount',
      subject: 'razorpay:pay_1',
      message: 'A capture of another amount',
      fields: { orderNumber },
    },
  );
  const [alert] = (await listAlerts(sql, { kind: 'wrong_amount' }, 1)).alerts;
  const { body } = await operators.support.get('/operator');
  expect(body).toContain('A capture of another amount');
  expect(body).toContain('None: the capture is refunded');
  expect(body).toContain(`href="/operator/orders/${orderNumber}"`);
  const path = `/operator/alerts/${alert?.alertId}/clear`;
  expect((await operators.support.get(path)).status).toBe(200);
  const blank = await operators.support.post(path, { reason: ' ' });
  expect(blank.status).toBe(400);
  expect(blank.body).toContain('id="reason-violation"');
  const cleared = await operators.support.post(path, { reason: 'Refunded by hand' });
  expect(cleared.location).toBe('/operator/alerts?done=alert');
  expect((await operators.support.get('/operator/alerts')).body).not.toContain('another amount');
  expect((await operators.support.post(path, { reason: 'Again' })).status).toBe(404);
  expect(await auditOf(sql, 'razorpay:pay_1')).toEqual([byOperator('alert.clear')]);
});

test('an alert links to what removes its cause, as far as the role may do it', async ({
  service,
  operators,
  orders,
  merchant,
}) => {
  const { sql, log } = service;
  const { orderNumber } = await orders.in('PAID');
  const { merchantId } = merchant;
  const raise = (kind: AlertKind, subject: string, fields = {}) =>
    raiseAlert({ sql, log }, { kind, subject, message: 'Look at this', fields });
  await raise('gateway_refused', orderNumber);
  await raise('linked_account_unusable', 'razorpay:acc_1', { merchantId });
  await raise('proposal_near_deadline', 'prp_1', { orderNumber });
  await raise('break_glass_used', merchantId);
  await raise('order_without_row', 'ORD01NOWHERE');
  const path = `/operator/orders/${orderNumber}`;
  const links = [
    `href="${path}"`,
    `href="${path}/retry"`,
    `href="/operator/merchants/${merchantId}"`,
    'href="/operator/proposals/prp_1"',
    `href="/operator/audit?subject=${merchantId}&amp;action=break-glass"`,
    '<code>npm run -s admin -- order recover --all --since TIME</code>',
    '<code>docs/runbook/alerts.md#order_without_row</code>',
  ];
  const support = (await operators.support.get('/operator/alerts')).body;
  for (const one of links) expect(support).toContain(one);
  expect(support).not.toContain(`href="${path}/settle"`);
  expect(support).not.toContain('href="/operator/orders/ORD01NOWHERE"');
  for (const page of ['/operator', '/operator/alerts']) {
    expect((await operators.finance.get(page)).body).toContain(`href="${path}/settle"`);
  }
  const [alert] = (await listAlerts(sql, { kind: 'gateway_refused', subject: orderNumber }, 1))
    .alerts;
  const one = await operators.support.get(`/operator/alerts/${alert?.alertId}/clear`);
  expect(one.body).toContain(`href="${path}/retry"`);
});

test('a cleared alert says who cleared it and why', async ({ service, operators }) => {
  const { sql, log } = service;
  const kind = 'mail_not_configured' as const;
  await raiseAlert({ sql, log }, { kind, subject: 'smtp', message: 'A mail waits' });
  await clearAlert(sql, kind, 'smtp', 'a mail was sent');
  const { body } = await operators.support.get('/operator/alerts?show=cleared');
  expect(body).toMatch(/A mail waits.*Cleared by the service<\/strong>: <bdi>a mail was sent/s);
  expect(body).not.toContain('/clear"');
  expect((await operators.support.get('/operator/alerts')).body).not.toContain('A mail waits');
});

test("one of an order's webhooks is sent again, and only under its own order", async ({
  service,
  operators,
  orders,
  owner,
}) => {
  const shop = await service.newMerchant();
  const created = await shop.sandbox.create();
  const { orderNumber } = await orders.workflowOf(created);
  const other = await orders.in('PAID');
  const [row] = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries JOIN order_events USING (event_id)
    WHERE order_number = ${orderNumber}`;
  const deliveryId = row?.deliveryId ?? '';
  const retry = (number: string) => pathOf(number, `deliveries/${deliveryId}/retry`);
  await until(async () => {
    const delivered = await service.sql`
      SELECT FROM webhook_deliveries WHERE delivery_id = ${deliveryId} AND state = 'DELIVERED'`;
    return delivered.length === 1;
  });
  const page = await operators.support.get(`/operator/orders/${orderNumber}`);
  expect(page.body).toContain(`action="${retry(orderNumber)}"`);
  expect((await operators.support.post(retry(other.orderNumber))).status).toBe(404);
  expect((await owner.post(retry(orderNumber))).status).toBe(404);
  const sent = await operators.support.post(retry(orderNumber));
  // `started` if the attempt takes longer than the page waits.
  const shown = `/operator/orders/${orderNumber}?done=`;
  expect([`${shown}delivered`, `${shown}started`]).toContain(sent.location);
  expect(await shop.receiver.until(2)).toHaveLength(2);
  expect(await auditOf(service.sql, deliveryId)).toEqual([byOperator('delivery.retry')]);
});
