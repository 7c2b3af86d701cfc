import { expect } from 'vitest';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import {
  decideDispute,
  raiseDisputeForBuyer,
} from '../../src/orders/commands/operator-commands.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { open, post, textOf } from '../checkout/buyer.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { Merchant } from '../support/merchant.ts';
import { operatorOf } from '../support/operator-of.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', callbacks: false });

const HOURS_72 = 72 * 3_600_000;
const REASON = 'It never arrived at my door';
const OPERATOR_DECIDES = 'Cannot resolve; an operator decides this dispute';

const raise = ({ sandbox }: Merchant, order: Order) =>
  sandbox.help(order, 'dispute', { reason: REASON });
const resolve = ({ sandbox }: Merchant, order: Order) =>
  sandbox.command(order, 'dispute/resolve', { resolution: 'We agreed' });

async function deliveredOrder({ sandbox }: Merchant) {
  const order = await sandbox.create();
  await sandbox.help(order, 'pay');
  await sandbox.command(order, 'deliver');
  return order;
}

/** A merchant that poses as its buyer has used up four disputes. */
async function withFourDisputes(merchant: Merchant) {
  const order = await deliveredOrder(merchant);
  for (let number = 1; number <= 4; number += 1) {
    const raised = await raise(merchant, order);
    expect([raised.status, raised.body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
    expect((await resolve(merchant, order)).status).toBe(200);
  }
  return order;
}

const msBetween = (from: string | undefined, to: string | null | undefined) =>
  Date.parse(to ?? '') - Date.parse(from ?? '');

test('a merchant that poses as its buyer cannot use up the disputes: an operator decides the fifth', async ({
  service,
  merchant,
  owner,
}) => {
  const { sandbox, receiver } = merchant;
  const order = await withFourDisputes(merchant);
  const operator = operatorOf(service);
  const decideForMerchant = () =>
    decideDispute(operator, order.order_number, { winner: 'merchant', reason: 'It was sent' });
  const page = async () =>
    (await owner.get(`/dashboard/sandbox/orders/${order.order_number}`)).body;
  const buyersPage = async () => textOf((await open(order.payment_url)).html);

  const raised = (await raise(merchant, order)).body.data;
  expect(raised).toMatchObject({ status: 'DISPUTE_UNDER_REVIEW', dispute_count: 5 });
  expect(msBetween(raised.dispute?.raised_at, raised.dispute?.respond_by)).toBe(HOURS_72);
  const [webhook] = await receiver.until(
    1,
    ({ event, body }) => event === 'DISPUTE_RAISED' && body.data['dispute_count'] === 5,
  );
  expect(webhook?.body.data['status']).toBe('DISPUTE_UNDER_REVIEW');
  expect(await buyersPage()).toContain('We decide your dispute');

  const resolved = await resolve(merchant, order);
  expect([resolved.status, resolved.body.message]).toEqual([400, OPERATOR_DECIDES]);
  expect(await page()).not.toContain('Resolve the dispute');
  expect(await page()).toContain('Submit evidence');

  const evidence = () => sandbox.command(order, 'dispute/evidence', { text: 'A photograph' });
  const reviewed = (await evidence()).body.data;
  expect(reviewed.status).toBe('DISPUTE_UNDER_REVIEW');
  expect(msBetween(reviewed.updated_at, reviewed.dispute?.respond_by)).toBe(HOURS_72);
  expect((await evidence()).status).toBe(400);
  expect((await resolve(merchant, order)).body.message).toBe(OPERATOR_DECIDES);
  expect(await page()).not.toContain('Submit evidence');

  expect((await decideForMerchant()).status).toBe('DELIVERED');
  expect((await raise(merchant, order)).status).toBe(400);
  const refused = await post(`${order.payment_url}/dispute`, { reason: REASON });
  expect(refused.status).toBe(400);

  // Neither limit binds an operator.
  const again = await raiseDisputeForBuyer(operator, order.order_number, REASON);
  expect(again).toMatchObject({ status: 'DISPUTE_UNDER_REVIEW', dispute_count: 6 });
  expect((await resolve(merchant, order)).body.message).toBe(OPERATOR_DECIDES);
  expect((await sandbox.command(order, 'dispute/accept')).status).toBe(200);
  await sandbox.untilStatus(order, 'REFUNDED');
});

test('without a decision the fifth dispute is refunded at its deadline, whatever the merchant asks', async ({
  service,
  merchant,
}) => {
  const { sandbox } = merchant;
  const order = await withFourDisputes(merchant);
  await raise(merchant, order);
  // A resolution whose API process has died before the workflow received it.
  await writeCommand(service.sql, {
    orderNumber: order.order_number,
    commandId: 'resolve:left',
    name: 'resolve',
    body: { resolution: 'We agreed' },
    origin: { actor: TEST_ACTOR, reason: 'A test asks for it' },
  });
  await sandbox.help(order, 'advance', { seconds: 72 * 3600 });
  await sandbox.untilStatus(order, 'REFUNDED');
  expect((await sandbox.read(order)).refund?.reason).toBe('dispute_not_resolved_in_time');
});

test('the sandbox can decide the fifth dispute', async ({ merchant }) => {
  const order = await withFourDisputes(merchant);
  await raise(merchant, order);
  const { body } = await merchant.sandbox.help(order, 'decide', { for: 'merchant' });
  expect(body.data.status).toBe('DELIVERED');
});

test("a buyer's limit counts what the buyer has raised, and not what operators have", async ({
  service,
  merchant,
}) => {
  const order = await deliveredOrder(merchant);
  for (let number = 1; number <= 4; number += 1) {
    await raiseDisputeForBuyer(operatorOf(service), order.order_number, REASON);
    await resolve(merchant, order);
  }
  const { status, body } = await raise(merchant, order);
  expect([status, body.data.status]).toEqual([200, 'DISPUTE_UNDER_REVIEW']);
});

test("an order with its third dispute is in the operators' work queue until its money has moved", async ({
  merchant,
  operators,
}) => {
  const order = await deliveredOrder(merchant);
  const isListed = async () => {
    const { body } = await operators.support.get('/operator');
    return body.includes(`/operator/disputes/${order.order_number}`);
  };
  for (let number = 1; number <= 3; number += 1) {
    expect(await isListed()).toBe(false);
    await raise(merchant, order);
    await resolve(merchant, order);
  }
  expect(await isListed()).toBe(true);
  await merchant.sandbox.command(order, 'refund', { reason: 'Sold out' });
  await merchant.sandbox.untilStatus(order, 'REFUNDED');
  expect(await isListed()).toBe(false);
});

test('lists show the fifth dispute with those that operators decide', async ({
  merchant,
  owner,
  operators,
}) => {
  const order = await withFourDisputes(merchant);
  await raise(merchant, order);
  const shows = async (body: Promise<{ body: string }>) =>
    (await body).body.includes(order.order_number);
  const operatorsList = (status: string) =>
    shows(operators.support.get(`/operator/disputes?status=${status}&size=100`));
  expect(await operatorsList('DISPUTE_UNDER_REVIEW')).toBe(true);
  expect(await operatorsList('DISPUTE_OPEN')).toBe(false);
  expect(await shows(owner.get('/dashboard/sandbox/disputes?list=underReview'))).toBe(true);
  // The merchant may still send evidence.
  expect(await shows(owner.get('/dashboard/sandbox/disputes?list=unanswered'))).toBe(true);
});
