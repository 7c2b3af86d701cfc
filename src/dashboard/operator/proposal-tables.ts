import type { ComponentChildren } from 'preact';
import type { Actor } from '../../db/actor.ts';
import type { Proposal, ProposalDeps, Proposed, Proposer } from '../../proposals/public.ts';
import { propose, titleOf } from '../../proposals/public.ts';
import type { Tone } from '../view/parts.ts';
import { section, tag } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortMoment } from '../view/texts.ts';
import { link } from '../view/url.ts';
import type { OperatorViewer } from '../viewer.ts';
import { merchantLink, orderLink } from './parts.ts';

const STATUSES = {
  open: ['wait', 'Open'],
  approved: ['good', 'Approved'],
  rejected: ['bad', 'Rejected'],
  withdrawn: ['plain', 'Withdrawn'],
  expired: ['plain', 'Expired'],
} as const satisfies Record<Proposal['status'], readonly [Tone, string]>;

export function aboutLink({
  orderNumber,
  merchantId,
  operatorEmail,
  before,
}: Proposal): ComponentChildren {
  if (orderNumber !== null) return orderLink(orderNumber);
  if (merchantId === null) return operatorEmail;
  // The name that the merchant had when the proposal was made.
  const { name } = before;
  return merchantLink(merchantId, typeof name === 'string' ? name : null);
}

export function statusTag({ status, outcome }: Proposal) {
  if (outcome !== null && outcome !== 'done') return tag('bad', 'Not carried out');
  const [tone, text] = STATUSES[status];
  return tag(tone, text);
}

export function proposalTable(proposals: readonly Proposal[], empty: string) {
  return dataTable({
    caption: 'Proposals',
    rows: proposals,
    empty,
    columns: {
      What: (one) => link(proposalPath(one.proposalId), titleOf(one)),
      About: aboutLink,
      Status: statusTag,
      By: ({ proposedByEmail }) => proposedByEmail,
      Proposed: ({ proposedAt }) => shortMoment(proposedAt),
      Expires: ({ status, expiresAt }) => status === 'open' && shortMoment(expiresAt),
    },
  });
}

export function openProposals(proposals: readonly Proposal[]) {
  if (proposals.length === 0) return null;
  return section('proposed', 'Proposed', proposalTable(proposals, ''));
}

export const proposalPath = (proposalId = '', below = ''): string =>
  proposalId === '' ? '/operator/proposals' : `/operator/proposals/${proposalId}${below}`;

/** The operator who proposes or decides. */
export const proposerOf = ({
  viewer: { user, role },
  actor,
}: {
  viewer: OperatorViewer;
  actor: Actor;
}): Proposer => ({ user, role, actor });

/** Proposes the change of a form, and shows the proposal. @throws DomainError */
export async function proposeAndShow(
  deps: ProposalDeps,
  proposer: Proposer,
  proposed: Proposed,
): Promise<{ seeOther: string }> {
  const proposalId = await propose(deps, proposer, proposed);
  return { seeOther: `${proposalPath(proposalId)}?done=open` };
}
