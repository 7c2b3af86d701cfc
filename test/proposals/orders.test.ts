import { describe, expect } from 'vitest';
import { listAlerts } from '../../src/alerts/alerts.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import { carryOutUnfinished } from '../../src/proposals/carry-out.ts';
import { warnOfDeadlines } from '../../src/proposals/deadlines.ts';
import { approveProposal, propose, rejectProposal } from '../../src/proposals/proposals.ts';
import { requireProposal, writeApproval } from '../../src/proposals/queries.ts';
import { dashboardTest } from '../dashboard/dashboard-test.ts';
import { mailsTo } from '../support/mails.ts';
import { aProposer, carriedOutBy, proposalOf } from '../support/proposals.ts';
import { operatorUser } from '../support/users.ts';

const REASON = 'The shop has closed';
const AMOUNT = 49_950;
const HOUR_MS = 3_600_000;

const test = dashboardTest({
  time: 'real',
  callbacks: false,
  merchant: { webhooks: false },
  settings: { PROPOSAL_ABOVE_PAISE: String(AMOUNT - 1), DISPUTE_ANSWER_SECONDS: '172800' },
})
  .extend('finance', ({ service }) => aProposer(service, 'finance'))
  .extend('admin', ({ service }) => aProposer(service, 'admin'))
  /** A refund that finance has proposed and an admin approved, whose process died before it was carried out. */
  .extend('approvedRefund', async ({ service: { deps, sql }, orders, finance, admin }) => {
    const order = await orders.in('PAID');
    await orders.suspendMerchant();
    const { orderNumber: subject } = order;
    const refund = { kind: 'order.refund', subject, parameters: {}, reason: REASON } as const;
    const proposalId = await propose(deps, finance, refund);
    const { userId } = admin.user;
    const by = { userId, roles: ['finance' as const, 'admin' as const], actor: admin.actor };
    await writeApproval(sql, proposalId, by);
    return { order, proposalId };
  });

const pathOf = (orderNumber: string, name: string) => `/operator/orders/${orderNumber}/${name}`;

describe('above the amount', () => {
  test('a refund is confirmed as a proposal, and refunded once another operator approves', async ({
    service: { sql },
    operators,
    orders,
  }) => {
    const order = await orders.in('PAID');
    await orders.suspendMerchant();
    const { orderNumber } = order;
    const path = pathOf(orderNumber, 'refund');
    const asked = await operators.finance.post(path, { reason: REASON });
    expect(asked.body).toContain('This needs a second operator');
    expect(asked.body).toContain('Propose it');
    const proposed = await operators.finance.post(path, { reason: REASON, confirmed: 'yes' });
    expect((await order.row()).status).toBe('PAID');
    const { body } = await operators.admin.get(proposalOf(proposed));
    expect(body).toContain('₹499.50 goes back to the buyer');
    expect(body).toContain(REASON);
    expect((await operators.support.get('/operator')).body).not.toContain(proposalOf(proposed));
    expect((await operators.admin.get('/operator')).body).toContain(`${proposalOf(proposed)}"`);
    await carriedOutBy(operators.admin, proposed);
    await order.untilStatus('REFUNDED');
    const { entries } = await listAudit(sql, { subject: orderNumber, action: 'order.refund' }, 10);
    expect(entries).toMatchObject([
      {
        actor: expect.stringMatching(/^operator:/),
        outcome: 'DONE',
        details: { commandId: `proposal:${proposalOf(proposed).split('/').at(-1)}` },
      },
    ]);
  });

  test('a decision is proposed with the deadline of the dispute, and decided once it is approved', async ({
    operators,
    orders,
  }) => {
    const order = await orders.in('DISPUTE_UNDER_REVIEW');
    const fields = { winner: 'merchant', reason: REASON, confirmed: 'yes' };
    const path = pathOf(order.orderNumber, 'decide');
    const proposed = await operators.finance.post(path, fields);
    const { body } = await operators.admin.get(proposalOf(proposed));
    expect(body).toContain('A proposal does not stop it.');
    expect(body).toContain((await order.row()).disputeRespondBy?.toISOString());
    expect(body).toContain('is released to the merchant after');
    await carriedOutBy(operators.admin, proposed);
    await order.untilStatus('DELIVERED');
    expect(await order.row()).toMatchObject({ disputeDecidedFor: 'merchant' });
  });

  test('whose order has gone on meanwhile is refused, and stays to be rejected', async ({
    operators,
    orders,
  }) => {
    const order = await orders.in('PAID');
    await orders.suspendMerchant();
    const path = pathOf(order.orderNumber, 'refund');
    const proposed = await operators.finance.post(path, { reason: REASON, confirmed: 'yes' });
    await order.update('deliver');
    await order.untilStatus('DELIVERED');
    const page = proposalOf(proposed);
    const refused = await operators.admin.post(`${page}/approve`);
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('What was proposed has changed since');
    const own = await operators.finance.post(`${page}/reject`);
    expect(own.body).toContain('withdraw it instead');
    expect((await operators.admin.post(`${page}/reject`)).location).toBe(`${page}?done=rejected`);
    expect((await order.row()).status).toBe('DELIVERED');
  });
});

test('a refund whose process dies after the approval is sent once by the sweep, and by no repeat', async ({
  service: { deps, sql },
  admin,
  approvedRefund: { order, proposalId },
}) => {
  expect((await order.row()).status).toBe('PAID');
  await Promise.all([carryOutUnfinished(deps, 0), carryOutUnfinished(deps, 0)]);
  await order.untilStatus('REFUNDED');
  const commands = await sql`
    SELECT command_id, actor FROM order_commands
    WHERE order_number = ${order.orderNumber} AND name = 'refund'`;
  expect(commands).toEqual([{ commandId: `proposal:${proposalId}`, actor: admin.actor.name }]);
  expect((await requireProposal(sql, proposalId)).outcome).toBe('done');
});

test('a refund is proposed only of an order whose merchant cannot refund it', async ({
  service: { deps },
  orders,
  finance,
}) => {
  const { orderNumber: subject } = await orders.in('PAID');
  const refund = { kind: 'order.refund', subject, parameters: {}, reason: REASON } as const;
  await expect(propose(deps, finance, refund)).rejects.toThrow(
    'Cannot refund for the merchant; it is approved and can refund the order itself',
  );
  await orders.suspendMerchant();
  expect(await propose(deps, finance, refund)).toMatch(/^prp_/);
});

test('a recorded refund is carried out after the merchant was activated again', async ({
  service: { deps, sql },
  merchant: { merchantId },
  admin: { actor },
  approvedRefund: { order, proposalId },
}) => {
  // The process dies behind the statement that records the command.
  await writeCommand(sql, {
    orderNumber: order.orderNumber,
    commandId: `proposal:${proposalId}`,
    name: 'refund',
    body: { reason: REASON },
    origin: { actor, reason: REASON },
  });
  await sql`UPDATE merchants SET status = 'APPROVED' WHERE merchant_id = ${merchantId}`;
  await carryOutUnfinished(deps, 0);
  await order.untilStatus('REFUNDED');
  expect((await requireProposal(sql, proposalId)).outcome).toBe('done');
});

test('an approved refund that the order refuses meanwhile has its refusal as the outcome', async ({
  service: { deps, sql },
  approvedRefund: { order, proposalId },
}) => {
  await order.update('refund');
  await order.untilStatus('REFUNDED');
  await carryOutUnfinished(deps, 0);
  expect((await requireProposal(sql, proposalId)).outcome).toContain('Cannot refund');
});

describe('an open proposal whose order has a deadline within 24 hours', () => {
  test('raises an alert and mails everyone who may approve it, once each', async ({
    service,
    orders,
    finance,
  }) => {
    const { deps, sql, clock } = service;
    const reader = await operatorUser(sql, 'finance');
    const support = await operatorUser(sql, 'support');
    const order = await orders.in('DISPUTE_UNDER_REVIEW');
    const { orderNumber } = order;
    const proposalId = await propose(deps, finance, {
      kind: 'dispute.decide',
      subject: orderNumber,
      parameters: { winner: 'buyer' },
      reason: REASON,
    });
    const alerts = async () =>
      (await listAlerts(sql, { kind: 'proposal_near_deadline', subject: proposalId }, 10)).alerts;
    const mails = async (email: string) =>
      (await mailsTo(sql, email)).filter(({ text }) => text.includes(proposalId));
    await warnOfDeadlines(deps);
    expect(await alerts()).toEqual([]);
    // The dispute ends in 48 hours, the proposal in 24.
    await sql`UPDATE proposals SET expires_at = expires_at + interval '48 hours'
      WHERE proposal_id = ${proposalId}`;
    await clock.set(25 * HOUR_MS);
    await warnOfDeadlines(deps);
    await warnOfDeadlines(deps);
    expect(await alerts()).toMatchObject([{ count: 1, details: { orderNumber } }]);
    expect(await mails(reader.email)).toHaveLength(1);
    expect((await mails(reader.email))[0]?.text).toContain(`/operator/proposals/${proposalId}`);
    expect(await mails(support.email)).toEqual([]);
    expect(await mails(finance.user.email)).toEqual([]);
    await rejectProposal(deps, await aProposer(service, 'admin'), proposalId);
    expect(await alerts()).toEqual([]);
    await clock.set(0);
  });

  test('a process that dies before the alert writes no mail again', async ({
    service,
    orders,
    finance,
  }) => {
    const { deps, sql } = service;
    const reader = await operatorUser(sql, 'admin');
    const { orderNumber } = await orders.in('DELIVERED');
    await orders.suspendMerchant();
    const refund = { kind: 'order.refund', parameters: {}, reason: REASON } as const;
    const proposalId = await propose(deps, finance, { ...refund, subject: orderNumber });
    const dying = Object.assign(Object.create(deps.log) as typeof deps.log, {
      error: () => {
        throw new Error('The process dies');
      },
    });
    await expect(warnOfDeadlines({ ...deps, log: dying })).rejects.toThrow('dies');
    await warnOfDeadlines(deps);
    const mails = (await mailsTo(sql, reader.email)).filter(({ text }) =>
      text.includes(proposalId),
    );
    expect(mails).toHaveLength(1);
    const open = await listAlerts(sql, { kind: 'proposal_near_deadline', subject: proposalId }, 10);
    expect(open.alerts).toHaveLength(1);
    await approveProposal(deps, await aProposer(service, 'finance'), proposalId);
    const { alerts } = await listAlerts(sql, { subject: proposalId }, 10);
    expect(alerts).toEqual([]);
  });
});
