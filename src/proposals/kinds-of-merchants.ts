import { z } from 'zod';
import { DomainError } from '../domain/index.ts';
import {
  assertAccountIsFree,
  prepareAccountChange,
  requireMerchant,
  setLinkedAccount,
} from '../merchants/public.ts';
import { assertDecisionFits, decideMerchant, readReview, versionOf } from '../onboarding/public.ts';
import { checkLinkedAccount } from '../payments/public.ts';
import type { Before, Change, Proposal, ProposalDeps } from './context.ts';
import type { CarryOutDeps } from './kind-rules.ts';
import { defineKind } from './kind-rules.ts';

const REASON = 1000;

/** Checks an account at the gateway, and that no other merchant has it. @throws DomainError */
async function checkAccount(deps: ProposalDeps, merchantId: string, linkedAccountId: string) {
  const { gateway } = await requireMerchant(deps.sql, merchantId);
  const account = await checkLinkedAccount(deps.gateways, gateway, linkedAccountId);
  await assertAccountIsFree(deps.sql, merchantId, account);
  return account;
}

async function accountsBefore({ sql }: ProposalDeps, merchantId: string) {
  const { name, gateway, linkedAccounts, waitingAccountId } = await requireMerchant(
    sql,
    merchantId,
  );
  return { name, gateway, activeAccount: linkedAccounts.production ?? null, waitingAccountId };
}

/** The accounts that both operators have seen. The statement of the change compares them again. */
const seenIn = ({ activeAccount, waitingAccountId }: Before) => ({
  activeId: activeAccount === null ? null : String(activeAccount),
  waitingId: waitingAccountId === null ? null : String(waitingAccountId),
});

/** Sets or changes the account that production pays a merchant out to. */
export const linkedAccount = defineKind({
  title: 'Set a linked account',
  about: 'merchant',
  parameters: z.strictObject({ linkedAccountId: z.string() }),
  maxReasonLength: REASON,
  readBefore: async (deps, { subject }, { linkedAccountId }) => {
    await checkAccount(deps, subject, linkedAccountId);
    const before = await accountsBefore(deps, subject);
    if ((before.waitingAccountId ?? before.activeAccount) === linkedAccountId) {
      throw new DomainError(
        'INVALID_STATE',
        `The merchant has the linked account ${linkedAccountId} already`,
      );
    }
    return before;
  },
  changes: ({ activeAccount, waitingAccountId }, { linkedAccountId }) => [
    {
      what:
        activeAccount === null
          ? 'Linked account, at once'
          : 'Linked account, after the wait for a change',
      before: textOf(activeAccount),
      after: linkedAccountId,
    },
    ...(waitingAccountId === null
      ? []
      : [{ what: 'Change that waits', before: textOf(waitingAccountId), after: 'withdrawn' }]),
  ],
  carryOut: async (deps, { subject, before }, { linkedAccountId }) =>
    setLinkedAccount(
      deps,
      subject,
      await checkAccount(deps, subject, linkedAccountId),
      seenIn(before),
    ),
});

const textOf = (value: string | number | null | undefined) =>
  value === null || value === undefined ? 'none' : String(value);

async function reviewBefore(
  deps: ProposalDeps,
  merchantId: string,
  change: 'approve' | 'activate',
): Promise<Before> {
  const review = await readReview(deps.sql, merchantId);
  const { application, merchant } = review;
  assertDecisionFits(review, change);
  const { status } = merchant;
  return { ...(await accountsBefore(deps, merchantId)), status, version: versionOf(application) };
}

const statusChange = ({ status }: Before): Change => ({
  what: 'Status',
  before: textOf(status),
  after: 'APPROVED',
});

function decideAs(deps: CarryOutDeps, { subject, reason, before }: Proposal) {
  return (
    change: 'approve' | 'activate',
    account?: Awaited<ReturnType<typeof prepareAccountChange>>,
  ) =>
    decideMerchant(deps, subject, {
      change,
      reason,
      seenVersion: String(before['version']),
      linkedAccount: account,
    });
}

/** Approves a merchant, with its first linked account if it is given. */
export const approve = defineKind({
  title: 'Approve a merchant',
  about: 'merchant',
  parameters: z.strictObject({ linkedAccountId: z.string().nullable() }),
  maxReasonLength: REASON,
  readBefore: async (deps, { subject }, { linkedAccountId }) => {
    const before = await reviewBefore(deps, subject, 'approve');
    if (linkedAccountId === null) return before;
    if (before['activeAccount'] !== null) {
      const message = 'The merchant has a linked account: propose its change on its own';
      throw new DomainError('INVALID_STATE', message);
    }
    await checkAccount(deps, subject, linkedAccountId);
    return before;
  },
  changes: (before, { linkedAccountId }) => [
    statusChange(before),
    {
      what: 'Linked account',
      before: textOf(before['activeAccount']),
      after: linkedAccountId ?? textOf(before['activeAccount']),
    },
  ],
  carryOut: async (deps, proposal, { linkedAccountId }) => {
    const { subject } = proposal;
    const decideFor = decideAs(deps, proposal);
    if (linkedAccountId === null) return decideFor('approve');
    const account = await checkAccount(deps, subject, linkedAccountId);
    const seen = seenIn(proposal.before);
    return decideFor('approve', await prepareAccountChange(deps, subject, account, seen));
  },
});

export const activate = defineKind({
  title: "End a merchant's suspension",
  about: 'merchant',
  parameters: z.strictObject({}),
  maxReasonLength: REASON,
  readBefore: (deps, { subject }) => reviewBefore(deps, subject, 'activate'),
  changes: (before) => [statusChange(before)],
  carryOut: (deps, proposal) => decideAs(deps, proposal)('activate'),
});
