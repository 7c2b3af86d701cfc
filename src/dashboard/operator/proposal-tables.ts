import type { ComponentChildren } from 'preact';
import type { Proposal } from '../../proposals/public.ts';
import { titleOf } from '../../proposals/public.ts';
import type { Tone } from '../view/parts.ts';
import { section, tag } from '../view/parts.ts';
import { shortMoment } from '../view/short-texts.ts';
import { dataTable } from '../view/table.ts';
import { link } from '../view/url.ts';
import { merchantLink, orderLink } from './parts.ts';
import { proposalPath } from './propose.ts';

const STATUSES = {
  open: ['wait', 'Open'],
  approved: ['good', 'Approved'],
  rejected: ['bad', 'Rejected'],
  withdrawn: ['plain', 'Withdrawn'],
  expired: ['plain', 'Expired'],
} as const satisfies Record<Proposal['status'], readonly [Tone, string]>;

/** What a proposal is about. */
export function aboutLink({
  orderNumber,
  merchantId,
  operatorEmail,
  before,
}: Proposal): ComponentChildren {
  if (orderNumber !== null) return orderLink(orderNumber);
  if (merchantId === null) return operatorEmail;
  // A proposal about a merchant has the name that it had then.
  const { name } = before;
  return merchantLink(merchantId, typeof name === 'string' ? name : null);
}

/** Its state. */
export function statusTag({ status }: Proposal) {
  const [tone, text] = STATUSES[status];
  return tag(tone, text);
}

/** Proposals as rows. */
export function proposalTable(proposals: readonly Proposal[], empty: string) {
  return dataTable({
    caption: 'Proposals',
    rows: proposals,
    empty,
    columns: [
      {
        title: 'What',
        cell: (one) => link(proposalPath(one.proposalId), titleOf(one)),
      },
      { title: 'About', cell: aboutLink },
      { title: 'Status', cell: statusTag },
      { title: 'By', cell: ({ proposedByEmail }) => proposedByEmail },
      { title: 'Proposed', cell: ({ proposedAt }) => shortMoment(proposedAt) },
      {
        title: 'Expires',
        cell: ({ status, expiresAt }) => status === 'open' && shortMoment(expiresAt),
      },
    ],
  });
}

/** What is proposed about the subject of a page, if anything is. */
export function openProposals(proposals: readonly Proposal[]) {
  if (proposals.length === 0) return null;
  return section('proposed', 'Proposed', proposalTable(proposals, ''));
}
