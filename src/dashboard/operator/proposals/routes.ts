import { z } from 'zod';
import { withMerchantNames } from '../../../merchants/public.ts';
import type { ProposalDeps, Proposer } from '../../../proposals/public.ts';
import {
  approveProposal,
  deadlineOfProposal,
  kindsFor,
  listOpenProposals,
  listPastProposals,
  rejectProposal,
  requireProposal,
  withdrawProposal,
} from '../../../proposals/public.ts';
import { operatorPage, ROWS_PER_PAGE } from '../parts.ts';
import { proposalPath, proposerOf } from '../proposal-tables.ts';
import { proposalsView, proposalView } from './views.ts';

/** An approval asks the gateway again, and waits for the order's workflow. */
const RESPONSE_TIMEOUT_MS = 15_000;
const MOST_OPEN = 200;

const params = z.object({ proposal: z.string() });

type Decide = (deps: ProposalDeps, proposer: Proposer, proposalId: string) => Promise<string>;

/** The decisions with their outcomes. @throws DomainError */
const DECISIONS: Readonly<Record<'approve' | 'reject' | 'withdraw', Decide>> = {
  async approve(...asked) {
    const { outcome } = await approveProposal(...asked);
    return outcome === 'done' ? 'approved' : outcome;
  },
  async reject(...asked) {
    await rejectProposal(...asked);
    return 'rejected';
  },
  async withdraw(...asked) {
    await withdrawProposal(...asked);
    return 'withdrawn';
  },
};

export const proposalPages = [
  operatorPage('GET /proposals', {
    query: z.object({ before: z.string().max(64).optional() }),
  }).handledBy(async ({ query: { before } }, { sql }) => {
    const [open, { proposals, hasMore }] = await Promise.all([
      listOpenProposals(sql, kindsFor('admin'), MOST_OPEN),
      listPastProposals(sql, before, ROWS_PER_PAGE),
    ]);
    const next = hasMore ? proposals.at(-1)?.proposalId : undefined;
    return { view: proposalsView(open, proposals, { before, next }) };
  }),
  operatorPage('GET /proposals/{proposal}', {
    params,
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ params: { proposal: id }, query: { done }, viewer }, deps) => {
    const proposal = await requireProposal(deps.sql, id);
    const [deadline, [named]] = await Promise.all([
      deadlineOfProposal(deps, proposal),
      withMerchantNames(deps.sql, [proposal]),
    ]);
    const merchantName = named?.merchantName ?? null;
    return { view: proposalView(viewer, proposal, { deadline, merchantName, done }) };
  }),
  ...Object.entries(DECISIONS).map(([name, decide]) =>
    operatorPage(`POST /proposals/{proposal}/${name}`, {
      params,
      formPath: '/proposals/{proposal}',
      refusals: ['INVALID_STATE', 'BAD_REQUEST', 'GATEWAY_UNAVAILABLE'],
      asksAgain: name === 'approve',
      responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    }).handledBy(async ({ params: { proposal }, viewer, actor }, deps) => {
      const done = await decide(deps, proposerOf({ viewer, actor }), proposal);
      return { seeOther: `${proposalPath(proposal)}?done=${done}` };
    }),
  ),
];
