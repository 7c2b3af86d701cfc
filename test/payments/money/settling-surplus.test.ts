import { describe, expect } from 'vitest';
import { refundSurplus } from '../../../src/payments/funds/refunds.ts';
import { withMoneyLease } from '../../../src/payments/funds/money-lease.ts';
import { claimSurplus, finishSurplus } from '../../../src/payments/funds/refund-queries.ts';
import { writeSurplusSettlement } from '../../../src/payments/settlement/settlement-queries.ts';
import { carryOutUnfinished } from '../../../src/proposals/carry-out.ts';
import { approveProposal, propose } from '../../../src/proposals/proposals.ts';
import { requireProposal } from '../../../src/proposals/queries.ts';
import { dashboardTest } from '../../dashboard/dashboard-test.ts';
import { adminCli } from '../../support/admin-cli.ts';
import { atRazorpay, madeAtGateway, simulator } from '../../support/gateway.ts';
import { aProposer, carriedOutBy } from '../../support/proposals.ts';
import type { TestService } from '../../support/service.ts';
import { codeOf, operatorUser, PASSWORD, TOTP_SECRET } from '../../support/users.ts';

const reason = 'The gateway refuses';
/** What an operator settled, in paise, and how many refunds the gateway has made. */
const SETTLED = [49_950, 0];
const REFUNDED = [null, 1];

const test = dashboardTest({ time: 'real', callbacks: false, merchant: { webhooks: false } })
  /** A CANCELLED order with two captures. Only the test refunds them, at a gateway that refuses nothing any more. */
  .extend('late', async ({ service, orders }) => {
    const { sql, deps } = service;
    const { orderNumber: subject, ...order } = await orders.in('CANCELLED');
    const finance = await aProposer(service, 'finance');
    const admin = await aProposer(service, 'admin');
    const capture = async () => {
      const id = await order.capture();
      await claimSurplus(sql, atRazorpay(id));
      return id;
    };
    const [x, y] = [await capture(), await capture()];
    const known = { subject, admin, capture, x, y };
    return {
      ...known,
      propose(surplus: string) {
        const reference = `UTR ${surplus}`;
        const parameters = { outcome: null, reference, notChecked: false, surplus };
        return propose(deps, finance, { kind: 'order.settle', subject, parameters, reason });
      },
      approve: (proposalId: string) => approveProposal(deps, admin, proposalId),
      approveWhileBothMove: (proposalId: string) =>
        withMoneyLease(sql, atRazorpay(x), () =>
          withMoneyLease(sql, atRazorpay(y), () => approveProposal(deps, admin, proposalId)),
        ),
      async sweep(proposalId: string) {
        await carryOutUnfinished(deps, 0);
        return (await requireProposal(sql, proposalId)).outcome;
      },
      async endOf(id: string) {
        await refundSurplus(deps, atRazorpay(id));
        const [row] = await sql<{ settledPaise: number | null }[]>`
          SELECT settled_paise FROM surplus_refunds WHERE gateway_payment_id = ${id}`;
        return [row?.settledPaise, (await madeAtGateway(service, id, 'refunds')).length];
      },
    };
  });

test('a settlement of two captures that meets the refund of one is repeated, and neither is refunded afterwards', async ({
  service: { sql },
  late: { x, y, ...late },
}) => {
  const proposalId = await late.propose(`${x} ${y}`);
  const first = await withMoneyLease(sql, atRazorpay(y), () => late.approve(proposalId));
  expect(first.outcome).toBe('waiting');
  expect(await late.endOf(x)).toEqual(SETTLED);
  expect(await late.sweep(proposalId)).toBe('done');
  expect(await late.endOf(y)).toEqual(SETTLED);
});

test('a settlement of two captures settles the one that the gateway can show, and is repeated for the other', async ({
  gateway,
  late: { x, y, ...late },
}) => {
  const proposalId = await late.propose(`${x} ${y}`);
  await late.approveWhileBothMove(proposalId);
  const { endFault } = await gateway.addFault({ kind: 'error', path: `/v1/payments/${x}/refunds` });
  expect(await late.sweep(proposalId)).toBeNull();
  expect(await late.endOf(y)).toEqual(SETTLED);
  await endFault();
  expect(await late.sweep(proposalId)).toBe('done');
  expect(await late.endOf(x)).toEqual(SETTLED);
});

test('a settlement of two captures that waits settles the one that is not refunded by then, and names the other', async ({
  late: { x, y, ...late },
}) => {
  const proposalId = await late.propose(`${x} ${y}`);
  await late.approveWhileBothMove(proposalId);
  const other = await late.propose(await late.capture());
  expect(await late.approve(other)).toEqual({ outcome: 'done' });
  expect(await late.endOf(y)).toEqual(REFUNDED);
  expect(await late.sweep(proposalId)).toContain(`Payment ${y} is not settled: it is refunded`);
  expect(await late.endOf(x)).toEqual(SETTLED);
});

test.for([true, false])(
  'a process that dies between two captures has settled the first once, its refund ended: %s',
  async (isEnded, { service: { sql }, late: { x, y, admin, ...late } }) => {
    const proposalId = await late.propose(`${x} ${y}`);
    await late.approveWhileBothMove(proposalId);
    const figures = { restPaise: 49_950, refundedPaise: 0, chargedBackPaise: 0 };
    const by = {
      outcome: 'refunded',
      reference: `UTR ${x} ${y}`,
      reason,
      isChecked: true,
    } as const;
    await writeSurplusSettlement(sql, admin, atRazorpay(x), { ...by, ...figures });
    if (isEnded) await finishSurplus(sql, atRazorpay(x));
    expect(await late.sweep(proposalId)).toBe('done');
    expect([await late.endOf(x), await late.endOf(y)]).toEqual([SETTLED, SETTLED]);
    const audit = await sql`SELECT FROM audit_log
      WHERE action = 'surplus.settle' AND details->>'orderNumber' = ${late.subject}`;
    expect(audit).toHaveLength(2);
  },
);

/** Settles an order as one operator who acts alone. */
async function settleOnCommandLine(
  { sql, env }: TestService,
  order: string,
  askSecrets = async () => [PASSWORD, codeOf(TOTP_SECRET)],
) {
  const { email } = await operatorUser(sql, 'admin');
  const command = ['order', 'settle', '--order', order, '--reference', `UTR ${order}`];
  const alone = ['--reason', reason, '--as', email, '--break-glass'];
  await adminCli(env, { askSecrets }).json(...command, ...alone);
}

describe('a settlement on the command line asks the gateway about an order of which a restored database knows too little', () => {
  test('its refund has failed since', async ({ service, orders }) => {
    const order = await orders.in('REFUNDED');
    const [refund] = await order.made('refunds');
    await simulator(service, 'POST', `/refunds/${refund!.id}/end`, { status: 'failed' });
    await settleOnCommandLine(service, order.orderNumber);
    await refundSurplus(service.deps, atRazorpay(await order.paymentId()));
    expect(await order.made('refunds')).toHaveLength(1);
    expect((await order.row()).refundProcessedAt).not.toBeNull();
  });

  test('it cannot take a capture', async ({ service, orders, late }) => {
    const order = await orders.in('CANCELLED');
    const id = await order.capture();
    await settleOnCommandLine(service, order.orderNumber);
    expect(await late.endOf(id)).toEqual(SETTLED);
  });
});

test('a settlement on the command line leaves out a capture that arrives after the question', async ({
  service,
  late: { x, y, subject, ...late },
}) => {
  const unseen: string[] = [];
  const askSecrets = async () => {
    unseen.push(await late.capture());
    return [PASSWORD, codeOf(TOTP_SECRET)];
  };
  await settleOnCommandLine(service, subject, askSecrets);
  const ends = await Promise.all([x, y, ...unseen].map(late.endOf));
  expect(ends).toEqual([SETTLED, SETTLED, REFUNDED]);
});

test('so does one of the dashboard', async ({ operators, late: { x, y, ...late } }) => {
  const path = `/operator/orders/${late.subject}/settle`;
  const fields = { reference: 'UTR 4715', reason };
  const question = await operators.finance.post(path, fields);
  const surplus = `${x} ${y}`;
  expect(question.body).toContain(`name="surplus" value="${surplus}"`);
  const unseen = await late.capture();
  const proposed = await operators.finance.post(path, { ...fields, surplus, confirmed: 'yes' });
  await carriedOutBy(operators.admin, proposed);
  expect([await late.endOf(x), await late.endOf(unseen)]).toEqual([SETTLED, REFUNDED]);
});
