import { z } from 'zod';
import { DomainError } from '../../../domain/index.ts';
import type { Route } from '../../../http/define-route.ts';
import { withMerchantNames } from '../../../merchants/public.ts';
import type { ProposalDeps } from '../../../proposals/public.ts';
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
import type { PageReply } from '../../reply.ts';
import type { View } from '../../view/layout.ts';
import type { OperatorViewer } from '../../viewer.ts';
import { ROWS_PER_PAGE } from '../context.ts';
import { proposalPath, proposerOf } from '../propose.ts';
import { proposalsView, proposalView } from './views.ts';

/** The gateway is asked again, and the order's workflow answers. */
const RESPONSE_TIMEOUT_MS = 15_000;
const MOST_OPEN = 200;

const params = z.object({ proposal: z.string() });

/** The proposals, and one with its approval, rejection and withdrawal. */
export function proposalPages(context: PageContext, deps: ProposalDeps): Route[] {
  const { sql } = deps;
  const list = definePage(context, {
    audience: 'operator',
    method: 'GET',
    path: '/proposals',
    query: z.object({ before: z.string().max(64).optional() }),
  }).handledBy(async ({ query: { before } }) => {
    const [open, { proposals, hasMore }] = await Promise.all([
      listOpenProposals(sql, kindsFor('admin'), MOST_OPEN),
      listPastProposals(sql, before, ROWS_PER_PAGE),
    ]);
    const next = hasMore ? proposals.at(-1)?.proposalId : undefined;
    return { view: proposalsView(open, proposals, { before, next }) };
  });
  const show = definePage(context, {
    audience: 'operator',
    method: 'GET',
    path: '/proposals/{proposal}',
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

function decisions(context: PageContext, deps: ProposalDeps): Route[] {
  const post = {
    audience: 'operator',
    method: 'POST',
    params,
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
  } as const;
  const shownAgain = async (
    viewer: OperatorViewer,
    proposalId: string,
    decide: () => Promise<string>,
  ): Promise<PageReply> => {
    try {
      return { seeOther: `${proposalPath(proposalId)}?done=${await decide()}` };
    } catch (error) {
      const status = error instanceof DomainError && SHOWN.get(error.code);
      if (!status) throw error;
      const refusal = error.message;
      return { status, view: await viewOf(deps, viewer, proposalId, { refusal }) };
    }
  };
  const approve = definePage(context, {
    ...post,
    path: '/proposals/{proposal}/approve',
    formPath: '/proposals/{proposal}',
    asksAgain: true,
  }).handledBy(async ({ params: { proposal }, viewer, actor }) =>
    shownAgain(viewer, proposal, async () => {
      const { outcome } = await approveProposal(deps, proposerOf({ viewer, actor }), proposal);
      return outcome === 'done' ? 'approved' : outcome;
    }),
  );
  const reject = definePage(context, { ...post, path: '/proposals/{proposal}/reject' }).handledBy(
    async ({ params: { proposal }, viewer, actor }) =>
      shownAgain(viewer, proposal, async () => {
        await rejectProposal(deps, proposerOf({ viewer, actor }), proposal);
        return 'rejected';
      }),
  );
  const withdraw = definePage(context, {
    ...post,
    path: '/proposals/{proposal}/withdraw',
  }).handledBy(async ({ params: { proposal }, viewer, actor }) =>
    shownAgain(viewer, proposal, async () => {
      await withdrawProposal(deps, proposerOf({ viewer, actor }), proposal);
      return 'withdrawn';
    }),
  );
  return [...approve, ...reject, ...withdraw];
}

/** The refusals that the proposal's own page shows, with their status. */
const SHOWN = new Map<DomainError['code'], 400 | 404 | 502>([
  ['INVALID_STATE', 400],
  ['BAD_REQUEST', 400],
  ['GATEWAY_UNAVAILABLE', 502],
]);
