import { describe, expect } from 'vitest';
import { createOperator } from '../../src/accounts/people/invitations.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import type { ProposalKind, Proposer } from '../../src/proposals/context.ts';
import { carryOutUnfinished } from '../../src/proposals/carry-out.ts';
import {
  approveProposal,
  propose,
  rejectProposal,
  withdrawProposal,
} from '../../src/proposals/proposals.ts';
import { statusTag } from '../../src/dashboard/operator/proposal-tables.ts';
import { requireProposal, writeApproval } from '../../src/proposals/queries.ts';
import { disableOrPropose, needsProposal } from '../../src/proposals/second-person.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { auditOf } from '../support/audit.ts';
import { anAccountId, giveAccount } from '../support/linked-accounts.ts';
import { aProposer } from '../support/proposals.ts';
import { serviceTest } from '../support/service-test.ts';
import { operatorUser } from '../support/users.ts';

const reason = 'The merchant has asked for it';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('finance', ({ service }) => aProposer(service, 'finance'))
  .extend('admin', ({ service }) => aProposer(service, 'admin'))
  .extend('otherAdmin', ({ service }) => aProposer(service, 'admin'))
  /** Proposes a linked account for a merchant of its own. */
  .extend('account', ({ service, finance }) => async (proposer: Proposer = finance) => {
    const { merchantId } = await service.newMerchant({ webhooks: false });
    const linkedAccountId = anAccountId();
    const proposalId = await propose(service.deps, proposer, {
      kind: 'merchant.linkedAccount',
      subject: merchantId,
      parameters: { linkedAccountId },
      reason,
    });
    return { merchantId, linkedAccountId, proposalId };
  })
  .extend('activeAccount', ({ service: { sql } }) => async (merchantId: string) => {
    const [row] = await sql<{ id: string }[]>`
      SELECT linked_account_id AS id FROM active_linked_account(${merchantId}, 'production', 'razorpay')`;
    return row?.id;
  })
  /** Approves a proposal as a process that dies before it carries it out, or that the gateway does not answer. */
  .extend('approveOnly', ({ service, otherAdmin }) => (proposalId: string) => {
    const { user, actor } = otherAdmin;
    const roles = ['finance', 'admin'] as const;
    return writeApproval(service.sql, proposalId, { userId: user.userId, roles, actor });
  })
  .extend('role', ({ service, admin }) => async (proposer: Proposer = admin) => {
    const { email, userId } = await operatorUser(service.sql, 'support');
    const proposalId = await propose(service.deps, proposer, {
      kind: 'operator.role',
      subject: email,
      parameters: { role: 'finance' },
      reason,
    });
    return { email, userId, proposalId };
  });

describe('an approval', () => {
  test('by another operator carries it out, with a line of each in the audit list', async ({
    service: { deps, sql },
    account,
    admin,
    finance,
    activeAccount,
  }) => {
    const { merchantId, linkedAccountId, proposalId } = await account();
    expect(await activeAccount(merchantId)).toBeUndefined();
    expect(await approveProposal(deps, admin, proposalId)).toEqual({ outcome: 'done' });
    expect(await activeAccount(merchantId)).toBe(linkedAccountId);
    const lines = (await auditOf(sql, merchantId)).slice(-3);
    expect(lines).toMatchObject([
      { actor: finance.actor.name, action: 'proposal.open' },
      { actor: admin.actor.name, action: 'proposal.approve' },
      { actor: admin.actor.name, action: 'merchant.linkedAccount' },
    ]);
    expect(await requireProposal(sql, proposalId)).toMatchObject({
      status: 'approved',
      outcome: 'done',
      carriedOutAt: expect.any(Date),
    });
  });

  test('of one’s own proposal is refused, by the function and by the table', async ({
    service: { deps, sql },
    account,
    finance,
    activeAccount,
  }) => {
    const { merchantId, proposalId } = await account();
    await expect(approveProposal(deps, finance, proposalId)).rejects.toThrow(
      'Another operator has to approve what you have proposed',
    );
    const byHand = sql`UPDATE proposals SET status = 'approved', decided_by = proposed_by,
      decided_at = now() WHERE proposal_id = ${proposalId}`;
    await expect(byHand).rejects.toThrow('proposals_check');
    expect(await activeAccount(merchantId)).toBeUndefined();
  });

  test('needs the permission at that moment, of the approver and of the proposer', async ({
    service,
    account,
    finance,
    activeAccount,
  }) => {
    const { deps, sql } = service;
    const { merchantId, proposalId } = await account();
    const support = await aProposer(service, 'support');
    await expect(approveProposal(deps, support, proposalId)).rejects.toThrow('Your role, support');
    const wasAdmin = await aProposer(service, 'admin');
    await sql`UPDATE users SET operator_role = 'support' WHERE user_id = ${wasAdmin.user.userId}`;
    await expect(approveProposal(deps, wasAdmin, proposalId)).rejects.toThrow(
      'does not allow this',
    );
    const disabled = await aProposer(service, 'admin');
    await sql`UPDATE users SET disabled_at = now() WHERE user_id = ${disabled.user.userId}`;
    await expect(approveProposal(deps, disabled, proposalId)).rejects.toThrow(
      'does not allow this',
    );
    await sql`UPDATE users SET disabled_at = now() WHERE user_id = ${finance.user.userId}`;
    await expect(
      approveProposal(deps, await aProposer(service, 'admin'), proposalId),
    ).rejects.toThrow('may no longer do this');
    expect(await activeAccount(merchantId)).toBeUndefined();
    expect((await requireProposal(sql, proposalId)).status).toBe('open');
  });

  test('is refused after 24 hours by the clock of the database, and the same can be proposed again', async ({
    service: { deps, sql },
    role,
    admin,
    otherAdmin,
  }) => {
    const { email, proposalId } = await role();
    const [row] = await sql<{ hours: number }[]>`
      SELECT extract(epoch FROM expires_at - proposed_at) / 3600 AS hours FROM proposals
      WHERE proposal_id = ${proposalId}`;
    expect(Number(row?.hours)).toBeCloseTo(24, 3);
    await sql`UPDATE proposals SET expires_at = service_now() WHERE proposal_id = ${proposalId}`;
    await expect(approveProposal(deps, otherAdmin, proposalId)).rejects.toThrow('has expired');
    const parameters = { role: 'finance' };
    await propose(deps, admin, { kind: 'operator.role', subject: email, parameters, reason });
    expect((await requireProposal(sql, proposalId)).status).toBe('expired');
  });

  test('is refused when what was seen has changed, and the proposal stays open', async ({
    service: { deps, sql },
    role,
    otherAdmin,
  }) => {
    const { userId, proposalId } = await role();
    await sql`UPDATE users SET operator_role = 'admin' WHERE user_id = ${userId}`;
    await expect(approveProposal(deps, otherAdmin, proposalId)).rejects.toThrow(
      'What was proposed has changed since',
    );
    expect((await requireProposal(sql, proposalId)).status).toBe('open');
    await rejectProposal(deps, otherAdmin, proposalId);
    expect((await requireProposal(sql, proposalId)).status).toBe('rejected');
  });

  test('of two operators at once carries it out once', async ({ service, role, otherAdmin }) => {
    const { deps, sql } = service;
    const { userId, proposalId } = await role();
    const third = await aProposer(service, 'admin');
    const results = await Promise.allSettled(
      [otherAdmin, third].map((admin) => approveProposal(deps, admin, proposalId)),
    );
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const { entries } = await listAudit(sql, { subject: userId, action: 'operator.role' }, 10);
    expect(entries).toHaveLength(1);
  });

  test('whose process dies before it is carried out is carried out by the sweep, once', async ({
    service: { deps, sql },
    account,
    approveOnly,
    otherAdmin,
    activeAccount,
  }) => {
    const { merchantId, linkedAccountId, proposalId } = await account();
    await approveOnly(proposalId);
    expect(await activeAccount(merchantId)).toBeUndefined();
    await Promise.all([carryOutUnfinished(deps, 0), carryOutUnfinished(deps, 0)]);
    expect(await activeAccount(merchantId)).toBe(linkedAccountId);
    const acts = (await auditOf(sql, merchantId)).filter(
      ({ action }) => action === 'merchant.linkedAccount',
    );
    expect(acts).toMatchObject([{ actor: otherAdmin.actor.name }]);
    expect(await carryOutUnfinished(deps, 0)).toEqual({ carriedOut: 0 });
  });

  test('that waits for the gateway is compared once more when it is carried out', async ({
    service,
    account,
    approveOnly,
    activeAccount,
  }) => {
    const { deps, sql } = service;
    const { merchantId, proposalId } = await account();
    await approveOnly(proposalId);
    const newer = anAccountId();
    await giveAccount(service, { merchantId }, newer);
    await carryOutUnfinished(deps, 0);
    expect(await activeAccount(merchantId)).toBe(newer);
    expect(
      await sql`SELECT FROM linked_account_changes WHERE merchant_id = ${merchantId}`,
    ).toHaveLength(1);
    const proposal = await requireProposal(sql, proposalId);
    expect(proposal.outcome).toContain('has changed since');
    // No operator has seen the refusal yet.
    expect(statusTag(proposal).props.children).toContain('Not carried out');
    expect(
      await sql`
      SELECT cleared_at, details->>'error' AS error FROM alerts WHERE subject = ${proposalId}`,
    ).toEqual([{ clearedAt: null, error: proposal.outcome }]);
  });

  test('of a newer account wins over an older one that waits with it', async ({
    service: { deps, sql },
    account,
    approveOnly,
    finance,
    activeAccount,
  }) => {
    const { merchantId, proposalId: older } = await account();
    await approveOnly(older);
    const linkedAccountId = anAccountId();
    const newer = await propose(deps, finance, {
      kind: 'merchant.linkedAccount',
      subject: merchantId,
      parameters: { linkedAccountId },
      reason,
    });
    await approveOnly(newer);
    await carryOutUnfinished(deps, 0);
    expect(await activeAccount(merchantId)).toBe(linkedAccountId);
    expect((await requireProposal(sql, newer)).outcome).toBe('done');
    expect((await requireProposal(sql, older)).outcome).toContain('A later proposal');
  });

  test('of a role is compared once more, too', async ({
    service: { deps, sql },
    role,
    approveOnly,
  }) => {
    const { userId, proposalId } = await role();
    await approveOnly(proposalId);
    await sql`UPDATE users SET operator_role = 'admin' WHERE user_id = ${userId}`;
    await carryOutUnfinished(deps, 0);
    const [user] = await sql`SELECT operator_role AS role FROM users WHERE user_id = ${userId}`;
    expect(user).toEqual({ role: 'admin' });
    expect((await requireProposal(sql, proposalId)).outcome).toContain('has changed since');
  });

  test('of what has become impossible says so, and nothing tries again', async ({
    service: { deps, sql },
    role,
    approveOnly,
  }) => {
    const { userId, email, proposalId } = await role();
    await approveOnly(proposalId);
    await sql`UPDATE users SET disabled_at = now() WHERE user_id = ${userId}`;
    await carryOutUnfinished(deps, 0);
    expect(await requireProposal(sql, proposalId)).toMatchObject({
      carriedOutAt: null,
      outcome: `There is no active operator ${email}`,
    });
    expect(await carryOutUnfinished(deps, 0)).toEqual({ carriedOut: 0 });
  });
});

describe('a proposal', () => {
  test('is open once for each subject and kind', async ({
    service: { deps },
    role,
    otherAdmin,
  }) => {
    const { email } = await role();
    const parameters = { role: 'admin' };
    const again = propose(deps, otherAdmin, {
      kind: 'operator.role',
      subject: email,
      parameters,
      reason,
    });
    await expect(again).rejects.toThrow('The same is proposed already');
  });

  test('is withdrawn by its own operator alone, and not rejected by that one', async ({
    service: { deps, sql },
    role,
    admin,
    otherAdmin,
  }) => {
    const { proposalId } = await role();
    await expect(withdrawProposal(deps, otherAdmin, proposalId)).rejects.toThrow(
      'Only the operator',
    );
    await expect(rejectProposal(deps, admin, proposalId)).rejects.toThrow('withdraw it instead');
    await withdrawProposal(deps, admin, proposalId);
    expect((await requireProposal(sql, proposalId)).status).toBe('withdrawn');
    await expect(approveProposal(deps, otherAdmin, proposalId)).rejects.toThrow(
      'withdrawn already',
    );
  });

  test('needs a reason, the permission, and another subject than oneself', async ({
    service,
    admin,
  }) => {
    const { deps } = service;
    const of = (proposer: Proposer, kind: ProposalKind, subject: string, why = reason) =>
      propose(deps, proposer, { kind, subject, parameters: { role: 'admin' }, reason: why });
    const { email } = await operatorUser(service.sql, 'support');
    await expect(of(admin, 'operator.role', email, ' ')).rejects.toThrow('must be 1 to 1000');
    await expect(of(admin, 'operator.role', admin.user.email)).rejects.toThrow('your own account');
    const finance = await aProposer(service, 'finance');
    await expect(of(finance, 'operator.role', email)).rejects.toThrow('Your role, finance');
  });

  test('is refused for an account of another merchant, and for the one that it has', async ({
    service: { deps },
    account,
    admin,
    finance,
  }) => {
    const first = await account();
    await approveProposal(deps, admin, first.proposalId);
    const second = await account();
    const of = (subject: string) =>
      propose(deps, finance, {
        kind: 'merchant.linkedAccount',
        subject,
        parameters: { linkedAccountId: first.linkedAccountId },
        reason,
      });
    await expect(of(second.merchantId)).rejects.toThrow('belongs to another merchant');
    await expect(of(first.merchantId)).rejects.toThrow('already');
  });

  test('is neither written nor changed by the login of the service, except through the functions', async ({
    service,
    role,
  }) => {
    const { proposalId } = await role();
    const { sql } = service.deps;
    for (const attempt of [
      sql`UPDATE proposals SET decided_by = NULL WHERE proposal_id = ${proposalId}`,
      sql`DELETE FROM proposals WHERE proposal_id = ${proposalId}`,
      sql`INSERT INTO proposals (proposal_id) VALUES ('prp_1')`,
      sql`DELETE FROM confirmed_admins`,
      sql`INSERT INTO confirmed_admins SELECT user_id FROM users`,
    ]) {
      await expect(attempt).rejects.toThrow('permission denied');
    }
  });
});

describe('the amount of an order', () => {
  test('decides whether a refund or a decision is proposed, and not for a settlement', async ({
    service: { sql },
    orders,
  }) => {
    const { orderNumber } = await orders.write();
    const { amountPaise } = (
      await sql<[{ amountPaise: number }]>`
      SELECT amount_paise FROM orders WHERE order_number = ${orderNumber}`
    )[0];
    for (const kind of ['order.refund', 'dispute.decide'] as const) {
      const at = { sql, proposalAbovePaise: amountPaise };
      expect(await needsProposal(at, kind, orderNumber)).toBe(false);
      const below = { sql, proposalAbovePaise: amountPaise - 1 };
      expect(await needsProposal(below, kind, orderNumber)).toBe(true);
    }
    const above = { sql, proposalAbovePaise: amountPaise };
    expect(await needsProposal(above, 'order.settle', orderNumber)).toBe(true);
  });
});

describe('the end of an operator', () => {
  test('needs one admin, but that of the last other active admin is proposed to that one', async ({
    service,
  }) => {
    const { deps, sql } = service;
    await sql`UPDATE users SET disabled_at = now() WHERE operator_role = 'admin'`;
    const [first, last] = [await aProposer(service, 'admin'), await aProposer(service, 'admin')];
    const support = await operatorUser(sql, 'support');
    const disable = (by: Proposer, { userId, email }: Proposer['user']) =>
      disableOrPropose(deps, by, { userId, email, reason });
    expect(await disable(first, support)).toBeNull();
    const third = await aProposer(service, 'admin');
    expect(await disable(first, third.user)).toBeNull();
    const proposalId = await disable(first, last.user);
    expect(proposalId).toMatch(/^prp_/);
    expect(await approveProposal(deps, last, proposalId ?? '')).toEqual({ outcome: 'done' });
    const [row] = await sql`SELECT FROM users WHERE user_id = ${last.user.userId}
      AND disabled_at IS NOT NULL`;
    expect(row).toBeDefined();
  });

  test('of each other at the same moment leaves one of two admins', async ({ service }) => {
    const { sql } = service;
    await sql`UPDATE users SET disabled_at = now() WHERE operator_role = 'admin'`;
    const three = [
      await aProposer(service, 'admin'),
      await aProposer(service, 'admin'),
      await aProposer(service, 'admin'),
    ];
    const [a, b, c] = three as [Proposer, Proposer, Proposer];
    const disable = (by: Proposer, { user }: Proposer) =>
      disableOrPropose(service.deps, by, { ...user, reason });
    await Promise.allSettled([disable(a, b), disable(b, c), disable(c, a)]);
    const left = await sql`
      SELECT FROM users WHERE operator_role = 'admin' AND disabled_at IS NULL`;
    expect(left.length).toBeGreaterThanOrEqual(1);
    const ended =
      await sql`SELECT FROM users WHERE user_id = ANY (${three.map(({ user }) => user.userId)})
      AND disabled_at IS NOT NULL`;
    expect(ended.length).toBeLessThanOrEqual(2);
  });
});

test('that two admins have confirmed a second factor cannot become false again', async ({
  service,
  admin,
  otherAdmin,
}) => {
  const { sql } = service;
  const users = [admin.user.userId, otherAdmin.user.userId];
  const state = async () => {
    const [row] = await sql<[{ isSo: boolean }]>`SELECT has_two_admins() AS is_so`;
    return row.isSo;
  };
  expect(await state()).toBe(true);
  await sql`UPDATE users SET totp_confirmed_at = NULL, totp_secret_sealed = NULL, operator_role = 'support'
    WHERE user_id = ANY (${users})`;
  expect(await state()).toBe(true);
  const first = createOperator(
    {
      sql,
      actor: TEST_ACTOR,
      publicBaseUrl: 'http://localhost',
      mailBox: createSecretBox(SECRET_KEYS),
      alongside: (of, changed) => of`SELECT assert_first_operators() FROM ${of(changed)}`,
    },
    { email: 'third@ops.example', role: 'admin' },
  );
  await expect(first).rejects.toThrow('There were two admins');
  expect(await sql`SELECT FROM users WHERE email = 'third@ops.example'`).toHaveLength(0);
});
