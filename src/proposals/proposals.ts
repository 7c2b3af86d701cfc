import { mayDo, rolesFor } from '../accounts/public.ts';
import { clearAlert } from '../alerts/alerts.ts';
import { DomainError } from '../domain/index.ts';
import { findOrderAnywhere } from '../orders/public.ts';
import type { CarriedOut } from './carry-out.ts';
import { carryOutProposal } from './carry-out.ts';
import type { Before, Parameters, ProposalDeps, ProposalKind, Proposer } from './context.ts';
import { rulesOf } from './kinds.ts';
import type { Decider } from './queries.ts';
import { insertProposal, requireProposal, writeApproval, writeEnd } from './queries.ts';
import { assertMayApprove, CHANGED } from './still-true.ts';

export interface Proposed {
  kind: ProposalKind;
  /** An order number, a merchant's id, or an operator's address. */
  subject: string;
  parameters: Parameters;
  reason: string;
  /** Facts that the operator has seen. If they have changed, the proposal is refused. */
  seen?: Before;
}

function deciderOf({ user, actor }: Proposer, kind: ProposalKind): Decider {
  return { userId: user.userId, roles: rolesFor(kind), actor };
}

/** @throws DomainError `NOT_PERMITTED` */
function assertMayDo({ role }: Proposer, kind: ProposalKind): void {
  if (mayDo(role, kind)) return;
  throw new DomainError('NOT_PERMITTED', `Your role, ${role}, does not allow this`);
}

/** The columns that name the subject of a proposal. @throws DomainError `ORDER_NOT_FOUND` */
async function aboutOf({ sql }: ProposalDeps, { kind, subject }: Proposed) {
  switch (rulesOf(kind).about) {
    case 'order': {
      const { merchantId } = await findOrderAnywhere(sql, subject);
      return { orderNumber: subject, merchantId };
    }
    case 'merchant':
      return { merchantId: subject };
    case 'operator':
      return { operatorEmail: subject };
  }
}

/**
 * Proposes an act, which another operator has to approve within 24 hours.
 *
 * @returns the proposal's id
 * @throws DomainError `BAD_REQUEST`, `NOT_PERMITTED`, `INVALID_STATE` if it is not possible now or is proposed
 * already, `NOT_FOUND`, `ORDER_NOT_FOUND`, `GATEWAY_UNAVAILABLE`
 */
export async function propose(
  deps: ProposalDeps,
  proposer: Proposer,
  proposed: Proposed,
): Promise<string> {
  const { kind, subject, seen = {} } = proposed;
  const rules = rulesOf(kind);
  assertMayDo(proposer, kind);
  if (rules.about === 'operator' && subject === proposer.user.email) {
    throw new DomainError('BAD_REQUEST', 'Another admin has to change your own account');
  }
  const reason = reasonOf(proposed.reason, rules.maxReasonLength);
  const parameters = rules.parameters.parse(proposed.parameters);
  const about = await aboutOf(deps, proposed);
  const before = await rules.readBefore(deps, { subject, reason }, parameters);
  if (Object.entries(seen).some(([name, value]) => before[name] !== value)) {
    throw new DomainError('INVALID_STATE', CHANGED);
  }
  const row = { kind, ...about, parameters, before, reason, proposedBy: proposer.user.userId };
  return insertProposal(deps.sql, row, deciderOf(proposer, kind));
}

/** @throws DomainError `BAD_REQUEST` */
function reasonOf(typed: string, maxLength: number): string {
  const reason = typed.trim();
  if (reason !== '' && [...reason].length <= maxLength) return reason;
  throw new DomainError(
    'BAD_REQUEST',
    `The reason must be 1 to ${maxLength} characters and not blank`,
  );
}

/**
 * Approves another operator's proposal, and carries it out. If the facts that proposer and approver saw have
 * changed, the approval is refused and the proposal stays open.
 *
 * @returns the result of the act; one that is `waiting` is carried out by the sweep
 * @throws DomainError `NOT_FOUND`, `NOT_PERMITTED`, `INVALID_STATE`, `GATEWAY_UNAVAILABLE`
 */
export async function approveProposal(
  deps: ProposalDeps,
  approver: Proposer,
  proposalId: string,
): Promise<CarriedOut> {
  const { sql } = deps;
  const proposal = await requireProposal(sql, proposalId);
  const { kind, status } = proposal;
  assertMayDo(approver, kind);
  if (status === 'open' && proposal.proposedBy !== approver.user.userId) {
    await assertMayApprove(deps, proposal);
  }
  await writeApproval(sql, proposalId, deciderOf(approver, kind));
  await endWarning(deps, proposalId, approver);
  return carryOutProposal(deps, await requireProposal(sql, proposalId), approver.actor);
}

/** Clears the warning about the order's deadline, because nothing has to be decided any more. */
async function endWarning({ sql }: ProposalDeps, proposalId: string, { actor }: Proposer) {
  const reason = 'the proposal is decided';
  const clearedBy = actor.name;
  await clearAlert(sql, 'proposal_near_deadline', proposalId, reason, { clearedBy });
}

/** Rejects another operator's proposal. @throws DomainError `NOT_FOUND`, `NOT_PERMITTED`, `INVALID_STATE` */
export async function rejectProposal(
  deps: ProposalDeps,
  operator: Proposer,
  proposalId: string,
): Promise<void> {
  const { kind } = await requireProposal(deps.sql, proposalId);
  assertMayDo(operator, kind);
  await writeEnd(deps.sql, proposalId, 'rejected', deciderOf(operator, kind));
  await endWarning(deps, proposalId, operator);
}

/** Withdraws one's own proposal. @throws DomainError `NOT_FOUND`, `INVALID_STATE` */
export async function withdrawProposal(
  deps: ProposalDeps,
  operator: Proposer,
  proposalId: string,
): Promise<void> {
  const { kind } = await requireProposal(deps.sql, proposalId);
  await writeEnd(deps.sql, proposalId, 'withdrawn', deciderOf(operator, kind));
  await endWarning(deps, proposalId, operator);
}
