import { z } from 'zod';
import { DomainError } from '../../../domain/index.ts';
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
import type { View } from '../../view/layout.ts';
import type { OperatorViewer } from '../../viewer.ts';
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
  }).handledBy(async ({ params: { proposal }, query: { done }, viewer }) => ({
    view: await viewOf(deps, viewer, proposal, { done }),
  }));
  return [...list, ...show, ...decisions(context, deps)];
}

async function viewOf(
  deps: ProposalDeps,
  viewer: OperatorViewer,
  proposalId: string,
  shown: { done?: string | undefined; refusal?: string },
): Promise<View> {
  const proposal = await requireProposal(deps.sql, proposalId);
  const [deadline, [named]] = await Promise.all([
    deadlineOfProposal(deps, proposal),
    withMerchantNames(deps.sql, [proposal]),
  ]);
  const merchantName = named?.merchantName ?? null;
  return proposalView(viewer, proposal, { deadline, merchantName, ...shown });
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
      asksAgain: name === 'approve',
      responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    }).handledBy(async ({ params: { proposal }, viewer, actor }) => {
      try {
        const done = await decide(deps, proposerOf({ viewer, actor }), proposal);
        return { seeOther: `${proposalPath(proposal)}?done=${done}` };
      } catch (error) {
        const status = error instanceof DomainError && SHOWN.get(error.code);
        if (!status) throw error;
        return { status, view: await viewOf(deps, viewer, proposal, { refusal: error.message }) };
      }
    }),
  );
}

/** The refusals that the proposal's own page shows, with their status. */
const SHOWN = new Map<DomainError['code'], 400 | 404 | 502>([
  ['INVALID_STATE', 400],
  ['BAD_REQUEST', 400],
  ['GATEWAY_UNAVAILABLE', 502],
]);
