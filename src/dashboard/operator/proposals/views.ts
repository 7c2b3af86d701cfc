import { h } from 'preact';
import { mayDo } from '../../../accounts/public.ts';
import type { Proposal } from '../../../proposals/public.ts';
import { changesOf, titleOf } from '../../../proposals/public.ts';
import { refused, submit } from '../../view/fields.ts';
import type { View } from '../../view/layout.ts';
import {
  doneNotice,
  facts,
  moment,
  money,
  notice,
  objectHead,
  section,
  written,
} from '../../view/parts.ts';
import { dataTable, pager } from '../../view/table.ts';
import { shortId } from '../../view/texts.ts';
import { form } from '../../view/url.ts';
import type { OperatorViewer } from '../../viewer.ts';
import { merchantLink } from '../parts.ts';
import { aboutLink, proposalPath, proposalTable, statusTag } from '../proposal-tables.ts';

const DONE = {
  open: 'It is proposed. Another operator has to approve it within 24 hours.',
  approved: 'It is approved and carried out.',
  waiting: {
    tone: 'wait',
    text: 'It is approved, and not carried out yet: it is tried again every half minute.',
  },
  refused: { tone: 'bad', text: 'It is approved, but could not be carried out: see the outcome.' },
  rejected: 'It is rejected.',
  withdrawn: 'It is withdrawn.',
} as const;

/** The open proposals, and a page of the others. */
export function proposalsView(
  open: readonly Proposal[],
  past: readonly Proposal[],
  position: { before: string | undefined; next: string | undefined },
): View {
  const content = [
    section('open', 'Open', proposalTable(open, 'No proposal is open.')),
    section(
      'past',
      'Decided or expired',
      proposalTable(past, 'There is none.'),
      pager(proposalPath(), {}, position),
    ),
  ];
  return { title: 'Proposals', content };
}

/** What a page of a proposal shows beside it. */
export interface ShownProposal {
  deadline: Date | null;
  merchantName: string | null;
  done: string | undefined;
}

/** One proposal with exactly what will happen, and what this operator may do with it. */
export function proposalView(
  viewer: OperatorViewer,
  proposal: Proposal,
  { deadline, merchantName, done }: ShownProposal,
): View {
  const { before, decidedAt, decidedByEmail, carriedOutAt, outcome } = proposal;
  const { amountPaise } = before;
  const title = titleOf(proposal);
  const content = [
    objectHead(
      {
        path: proposalPath(),
        list: 'Proposals',
        one: shortId('proposal id', proposal.proposalId),
      },
      title,
      statusTag(proposal),
    ),
    doneNotice(DONE, done),
    refused(),
    section(
      'what',
      'What will happen',
      changeTable(proposal),
      facts({
        About: aboutLink(proposal),
        Merchant: proposal.merchantId && merchantLink(proposal.merchantId, merchantName),
        Amount: typeof amountPaise === 'number' && money(amountPaise),
        "The order's deadline": deadline && [moment(deadline), '. A proposal does not stop it.'],
      }),
      h('p', null, 'The reason:'),
      written(proposal.reason),
    ),
    section(
      'who',
      'Who',
      facts({
        'Proposed by': [proposal.proposedByEmail, ', ', moment(proposal.proposedAt)],
        Expires: proposal.status === 'open' && moment(proposal.expiresAt),
        'Decided by': decidedByEmail && decidedAt && [decidedByEmail, ', ', moment(decidedAt)],
        'Carried out': carriedOutAt && moment(carriedOutAt),
        Outcome: outcomeText(proposal.status, outcome),
      }),
    ),
    decisionPart(viewer, proposal),
  ];
  return { title, content, hasOwnHeading: true };
}

function outcomeText(status: Proposal['status'], outcome: string | null) {
  if (status !== 'approved') return null;
  if (outcome === null) return 'Not carried out yet';
  return outcome === 'done' ? 'Done' : `Not carried out: ${outcome}`;
}

function changeTable(proposal: Proposal) {
  return dataTable({
    caption: 'What is, and what will be',
    rows: changesOf(proposal),
    empty: 'Nothing.',
    columns: {
      What: ({ what }) => what,
      'When it was proposed': (change) => change.before,
      Afterwards: ({ after }) => after,
    },
  });
}

function decisionPart({ user, role }: OperatorViewer, proposal: Proposal) {
  const { proposalId, status, proposedBy, kind } = proposal;
  if (status !== 'open') return null;
  const button = (action: 'approve' | 'reject' | 'withdraw', text: string, danger = false) =>
    form(
      proposalPath(proposalId, `/${action}`),
      { 'aria-label': text },
      submit(text, danger ? 'danger' : undefined),
    );
  if (proposedBy === user.userId) {
    return section(
      'decision',
      'Decision',
      notice('plain', 'Another operator has to approve what you have proposed.'),
      button('withdraw', 'Withdraw'),
    );
  }
  if (!mayDo(role, kind)) {
    const text = `Your role, ${role}, does not allow you to approve or reject this.`;
    return section('decision', 'Decision', notice('plain', text));
  }
  return section(
    'decision',
    'Decision',
    h('p', null, 'Approve it only if you would do exactly this yourself. It is done at once.'),
    h('div', { class: 'actions' }, button('approve', 'Approve'), button('reject', 'Reject', true)),
  );
}
