import type { Actor } from '../../db/actor.ts';
import type { Proposed, ProposalDeps, Proposer } from '../../proposals/public.ts';
import { propose } from '../../proposals/public.ts';
import type { OperatorViewer } from '../viewer.ts';

/** The path of the proposals, of one, or of something below it. */
export const proposalPath = (proposalId = '', below = ''): string =>
  proposalId === '' ? '/operator/proposals' : `/operator/proposals/${proposalId}${below}`;

/** The operator of a request, who proposes or decides. */
export const proposerOf = ({
  viewer: { user, role },
  actor,
}: {
  viewer: OperatorViewer;
  actor: Actor;
}): Proposer => ({ user, role, actor });

/** Proposes what a form asks for, and shows the proposal. @throws DomainError */
export async function proposeAndShow(
  deps: ProposalDeps,
  proposer: Proposer,
  proposed: Proposed,
): Promise<{ seeOther: string }> {
  const proposalId = await propose(deps, proposer, proposed);
  return { seeOther: `${proposalPath(proposalId)}?done=open` };
}
