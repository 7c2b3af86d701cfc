import { z } from 'zod';
import type { Route } from '../../../http/define-route.ts';
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
import type { PageContext } from '../../context.ts';
import { definePage } from '../../page.ts';
import { ROWS_PER_PAGE } from '../parts.ts';
import { proposalPath, proposerOf } from '../proposal-tables.ts';
import { proposalsView, proposalView } from './views.ts';

/** The gateway is asked again, and the order's workflow answers. */
const RESPONSE_TIMEOUT_MS = 15_000;
const MOST_OPEN = 200;

const params = z.object({ proposal: z.string() });

/** The proposals, and one with its approval, rejection and withdrawal. */
export function proposalPages(context: PageContext, deps: ProposalDeps): Route[] {
  const { sql } = deps;
  const list = definePage(context, 'operator', 'GET /proposals', {
    query: z.object({ before: z.string().max(64).optional() }),
  }).handledBy(async ({ query: { before } }) => {
    const [open, { proposals, hasMore }] = await Promise.all([
      listOpenProposals(sql, kindsFor('admin'), MOST_OPEN),
      listPastProposals(sql, before, ROWS_PER_PAGE),
    ]);
    const next = hasMore ? proposals.at(-1)?.proposalId : undefined;
    return { view: proposalsView(open, proposals, { before, next }) };
  });
  const show = definePage(context, 'operator', 'GET /proposals/{proposal}', {
    params,
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ params: { proposal: id }, query: { done }, viewer }) => {
    const proposal = await requireProposal(sql, id);
    const [deadline, [named]] = await Promise.all([
      deadlineOfProposal(deps, proposal),
      withMerchantNames(sql, [proposal]),
    ]);
    const merchantName = named?.merchantName ?? null;
    return { view: proposalView(viewer, proposal, { deadline, merchantName, done }) };
  });
  return [...list, ...show, ...decisions(context, deps)];
}

type Decide = (deps: ProposalDeps, proposer: Proposer, proposalId: string) => Promise<string>;

/** What can be decided about a proposal, each with what came of it. @throws DomainError */
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

function decisions(context: PageContext, deps: ProposalDeps): Route[] {
  return Object.entries(DECISIONS).flatMap(([name, decide]) =>
    definePage(context, 'operator', `POST /proposals/{proposal}/${name}`, {
      params,
      formPath: '/proposals/{proposal}',
      refusals: ['INVALID_STATE', 'BAD_REQUEST', 'GATEWAY_UNAVAILABLE'],
      asksAgain: name === 'approve',
      responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    }).handledBy(async ({ params: { proposal }, viewer, actor }) => {
      const done = await decide(deps, proposerOf({ viewer, actor }), proposal);
      return { seeOther: `${proposalPath(proposal)}?done=${done}` };
    }),
  );
}
