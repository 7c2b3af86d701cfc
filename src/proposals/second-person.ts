import type { OperatorRole } from '../accounts/public.ts';
import {
  ACTION_RULES,
  disableOperator,
  emailKeyOf,
  listActiveOperators,
  mayDo,
} from '../accounts/public.ts';
import type { Sql } from '../db/client.ts';
import { findOrderAnywhere } from '../orders/public.ts';
import type { ProposalDeps, ProposalKind, Proposer } from './context.ts';
import { KINDS } from './kinds.ts';
import { propose } from './proposals.ts';
import { orRefusal } from './queries.ts';

const ALL_KINDS = Object.keys(KINDS) as ProposalKind[];

/** The kinds of proposals that a role may make and decide. */
export const kindsFor = (role: OperatorRole): ProposalKind[] =>
  ALL_KINDS.filter((kind) => mayDo(role, kind));

export interface AmountRule {
  sql: Sql;
  /** PROPOSAL_ABOVE_PAISE */
  proposalAbovePaise: number;
}

/** Decides whether an act on an order needs a proposal. @throws DomainError `ORDER_NOT_FOUND` */
export async function needsProposal(
  { sql, proposalAbovePaise }: AmountRule,
  kind: ProposalKind,
  orderNumber: string,
): Promise<boolean> {
  const { amountPaise } = await findOrderAnywhere(sql, orderNumber);
  const { secondPerson } = ACTION_RULES[kind];
  return secondPerson === 'always' || amountPaise > proposalAbovePaise;
}

/** True if the operator is an active admin, and no other would remain besides the one who asks. */
export async function isLastOtherAdmin(sql: Sql, email: string, byEmail: string): Promise<boolean> {
  const admins = (await listActiveOperators(sql, ['admin'])).map((admin) => admin.email);
  const key = emailKeyOf(email);
  return admins.includes(key) && admins.every((admin) => admin === key || admin === byEmail);
}

/**
 * Disables an operator immediately, which one admin may do alone. For the last other active admin, it makes a
 * proposal instead.
 *
 * @returns the id of the proposal; null if the operator is disabled
 * @throws DomainError `BAD_REQUEST`, `NOT_FOUND`, `INVALID_STATE`
 */
export async function disableOrPropose(
  deps: ProposalDeps,
  proposer: Proposer,
  { userId, email, reason }: { userId: string; email: string; reason: string },
): Promise<string | null> {
  const { sql } = deps;
  if (await isLastOtherAdmin(sql, email, proposer.user.email)) {
    const proposed = { kind: 'operator.disable', subject: email, parameters: {}, reason } as const;
    return propose(deps, proposer, proposed);
  }
  // Two admins may disable each other, or two others, at the same moment.
  const by = proposer.user.userId;
  await orRefusal(() =>
    disableOperator(
      {
        ...deps,
        actor: proposer.actor,
        alongside: (of, changed) =>
          of`SELECT assert_admin_remains(${userId}, ${by}) FROM ${of(changed)}`,
      },
      email,
    ),
  );
  return null;
}
