import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../domain/index.ts';
import type { Proposal, ProposalDeps } from './context.ts';
import { rulesOf } from './kinds.ts';
import { isSuperseded } from './queries.ts';

/** The refusal when something has changed since the proposal. */
export const CHANGED = 'What was proposed has changed since: look at it again, and propose it anew';
const SUPERSEDED = 'A later proposal of the same was approved: that one counts';

/**
 * True if the facts that the proposer saw still hold.
 *
 * @throws DomainError that of the act if it is not possible now
 */
async function isStillTrue(deps: ProposalDeps, proposal: Proposal): Promise<boolean> {
  const { kind, parameters, before } = proposal;
  const now = await rulesOf(kind).readBefore(deps, proposal, parameters);
  return isDeepStrictEqual({ ...now }, { ...before });
}

/**
 * @throws DomainError `INVALID_STATE` if a proposal may not be approved, or that of the act if it is not possible
 * now
 */
export async function assertMayApprove(deps: ProposalDeps, proposal: Proposal): Promise<void> {
  if (await isStillTrue(deps, proposal)) return;
  throw new DomainError('INVALID_STATE', `${CHANGED}. This proposal can be rejected or withdrawn`);
}

/**
 * Compares the facts of an approved proposal once more when it is carried out. While it waited for the gateway, or
 * after a process had died, another proposal may have been carried out, or the act done on the command line. The rules
 * of its kind say when that is not needed.
 *
 * @throws DomainError `INVALID_STATE` if something differs, or if a later proposal about the same was approved;
 * `GATEWAY_UNAVAILABLE`
 */
export async function assertMayBegin(deps: ProposalDeps, proposal: Proposal): Promise<void> {
  const { needsNoComparison } = rulesOf(proposal.kind);
  if (await needsNoComparison?.(deps, proposal)) return;
  const refusal = await refusalOf(deps, proposal);
  // Asked again, because another process may have begun it in the meantime.
  if (!refusal || (await needsNoComparison?.(deps, proposal))) return;
  throw new DomainError('INVALID_STATE', refusal);
}

async function refusalOf(deps: ProposalDeps, proposal: Proposal): Promise<string | undefined> {
  if (await isSuperseded(deps.sql, proposal.proposalId)) return SUPERSEDED;
  // If it is no longer possible, the act refuses it with its own message.
  const isTrue = await isStillTrue(deps, proposal).catch((error: unknown) => {
    if (error instanceof DomainError && error.code !== 'GATEWAY_UNAVAILABLE') return true;
    throw error;
  });
  return isTrue ? undefined : CHANGED;
}
