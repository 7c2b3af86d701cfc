import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../domain/index.ts';
import type { Proposal, ProposalDeps } from './context.ts';
import { rulesOf } from './kinds.ts';
import { isSuperseded } from './queries.ts';

/** The refusal of what has changed since it was proposed. */
export const CHANGED = 'What was proposed has changed since: look at it again, and propose it anew';
const SUPERSEDED = 'A later proposal of the same was approved: that one counts';

/**
 * Whether what the proposer has seen is true now.
 *
 * @throws DomainError that of the act if it is not possible now
 */
async function isStillTrue(deps: ProposalDeps, proposal: Proposal): Promise<boolean> {
  const { kind, parameters, before } = proposal;
  const now = await rulesOf(kind).readBefore(deps, proposal, parameters);
  return isDeepStrictEqual({ ...now }, { ...before });
}

/** @throws DomainError `INVALID_STATE` if a proposal may not be approved, or that of the act if it is not possible now */
export async function assertMayApprove(deps: ProposalDeps, proposal: Proposal): Promise<void> {
  if (await isStillTrue(deps, proposal)) return;
  throw new DomainError('INVALID_STATE', `${CHANGED}. This proposal can be rejected or withdrawn`);
}

/**
 * Compares an approved proposal with the present once more when it is carried out: it may have waited for the gateway,
 * or for a process that has died, while another one was carried out or the act was done on the command line. An act
 * that has begun is not compared, because a repeat ends it.
 *
 * @throws DomainError `INVALID_STATE` if something differs, or if a later proposal of the same was approved;
 *   `GATEWAY_UNAVAILABLE`
 */
export async function assertMayBegin(deps: ProposalDeps, proposal: Proposal): Promise<void> {
  const refusal = await refusalOf(deps, proposal);
  // Asked afterwards: another process may have begun it since.
  if (!refusal || (await rulesOf(proposal.kind).hasBegun?.(deps, proposal))) return;
  throw new DomainError('INVALID_STATE', refusal);
}

async function refusalOf(deps: ProposalDeps, proposal: Proposal): Promise<string | undefined> {
  if (await isSuperseded(deps.sql, proposal.proposalId)) return SUPERSEDED;
  // What is not possible any more is refused by the act, in its own words.
  const isTrue = await isStillTrue(deps, proposal).catch((error: unknown) => {
    if (error instanceof DomainError && error.code !== 'GATEWAY_UNAVAILABLE') return true;
    throw error;
  });
  return isTrue ? undefined : CHANGED;
}
