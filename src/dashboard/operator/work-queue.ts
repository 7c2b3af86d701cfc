import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { z } from 'zod';
import type { OperatorRole } from '../../accounts/public.ts';
import { listAlerts } from '../../alerts/alerts.ts';
import type { LedgerProof } from '../../ledger/public.ts';
import { findLatestProof } from '../../ledger/public.ts';
import { withMerchantNames } from '../../merchants/public.ts';
import { listUnderReview } from '../../onboarding/public.ts';
import { findDisputedOften, findOverdueOrders, listDisputes } from '../../orders/public.ts';
import { findStuckMoney, inspectStuck } from '../../payments/public.ts';
import { kindsFor, listOpenProposals } from '../../proposals/public.ts';
import { findFailingEndpoints } from '../../webhooks/public.ts';
import type { Tone } from '../view/parts.ts';
import { notice, section } from '../view/parts.ts';
import { link } from '../view/url.ts';
import type { OperatorViewer } from '../viewer.ts';
import { alertList } from './alerts.ts';
import { disputeTable } from './dispute-parts.ts';
import type { OperatorPageDeps } from './parts.ts';
import { actionNotice, moreNote, operatorPage } from './parts.ts';
import { proposalPath, proposalTable } from './proposal-tables.ts';
import {
  disputedOftenTable,
  failingTable,
  overdueTable,
  reviewTable,
  stuckTable,
} from './work-tables.ts';

/** The rows shown of each kind of work; alerts and disputes have pages with all of them. */
const ROWS_OF_A_KIND = 10;

/** As many are read; the operator's own are left out after that. */
const MOST_PROPOSALS = 200;

/** The Schedule makes a proof every hour. */
const PROOF_IS_LATE_MS = 3 * 3_600_000;

/** The operators' first page: the work that waits for them. */
export const workQueuePage = operatorPage('GET /', {
  query: z.object({ done: z.string().optional() }),
}).handledBy(async ({ query, viewer }, deps) => {
  const work = await readWork(deps, viewer);
  const content = [
    actionNotice(query.done),
    proofNotice(work.proof),
    ...workParts(partsOf(work, viewer.role)),
  ];
  return { view: { title: 'Work queue', content } };
});

type Work = Awaited<ReturnType<typeof readWork>>;

/** The most urgent kind first. */
function partsOf(work: Work, role: OperatorRole): WorkPart[] {
  return [
    {
      id: 'alerts',
      title: 'Alerts',
      rows: work.alerts.alerts,
      content: alertList(work.alerts.alerts, role),
      more: work.alerts.hasMore && link('/operator/alerts', 'All alerts'),
    },
    {
      id: 'proposals',
      title: 'Proposals that you may approve',
      rows: work.proposals,
      content: proposalTable(work.proposals.slice(0, ROWS_OF_A_KIND), ''),
      more: work.proposals.length > ROWS_OF_A_KIND && link(proposalPath(), 'All proposals'),
    },
    {
      id: 'stuck',
      title: 'Money stuck for more than 5 minutes',
      rows: work.stuck.inspected,
      content: stuckTable(work.stuck.inspected, role),
      more: work.stuck.hasMore,
    },
    {
      id: 'disputes',
      title: 'Disputes under review',
      rows: work.disputes.rows,
      content: disputeTable(work.disputes.rows, ''),
      more: work.disputes.hasMore && link('/operator/disputes', 'All disputes'),
    },
    {
      id: 'disputed-often',
      title: 'Orders with three disputes or more',
      rows: work.disputedOften.orders,
      content: disputedOftenTable(work.disputedOften.orders),
      more: work.disputedOften.hasMore,
    },
    {
      id: 'reviews',
      title: 'Merchants waiting for a review',
      rows: work.reviews,
      content: reviewTable(work.reviews.slice(0, ROWS_OF_A_KIND)),
      more: work.reviews.length > ROWS_OF_A_KIND && link('/operator/merchants', 'All merchants'),
    },
    {
      id: 'overdue',
      title: 'Orders that wait for their workflow',
      rows: work.overdue.orders,
      content: overdueTable(work.overdue.orders, role),
      more: work.overdue.hasMore,
    },
    {
      id: 'endpoints',
      title: 'Failing webhook endpoints',
      rows: work.failing.endpoints,
      content: failingTable(work.failing.endpoints),
      more: work.failing.hasMore,
    },
  ];
}

/** The text of each count, in the colour of its urgency. */
const FIGURES = {
  alerts: { label: 'Alerts', tone: 'bad' },
  proposals: { label: 'To approve', tone: 'wait' },
  stuck: { label: 'Stuck money', tone: 'bad' },
  disputes: { label: 'To decide', tone: 'bad' },
  'disputed-often': { label: 'Disputed often', tone: 'bad' },
  reviews: { label: 'To review', tone: 'wait' },
  overdue: { label: 'Late orders', tone: 'bad' },
  endpoints: { label: 'Failing endpoints', tone: 'bad' },
} as const satisfies Record<string, { label: string; tone: Tone }>;

interface WorkPart {
  readonly id: keyof typeof FIGURES;
  readonly title: string;
  readonly rows: readonly unknown[];
  readonly content: ComponentChildren;
  /** Whether there are more rows: true, or a link to all of them. */
  readonly more: ComponentChildren;
}

/** The counts of all kinds, then the rows of each kind that has any. */
function workParts(parts: readonly WorkPart[]) {
  const waiting = parts.filter(({ rows }) => rows.length > 0);
  const countText = ({ rows, more }: WorkPart) =>
    more ? `${ROWS_OF_A_KIND}+` : String(rows.length);
  return [
    h(
      'section',
      { class: 'card', 'aria-label': 'What waits' },
      h(
        'dl',
        { class: 'figures work' },
        parts.map((part) =>
          h(
            'div',
            { key: part.id, class: part.rows.length === 0 ? 'none' : FIGURES[part.id].tone },
            h('dt', null, FIGURES[part.id].label),
            h(
              'dd',
              null,
              part.rows.length === 0 ? '0' : h('a', { href: `#${part.id}` }, countText(part)),
            ),
          ),
        ),
      ),
    ),
    waiting.length === 0 && notice('good', 'Nothing waits for you.'),
    ...waiting.map(({ id, title, content, more }) =>
      section(id, title, content, moreNote(Boolean(more), more === true ? undefined : more)),
    ),
  ];
}

async function readWork({ sql, inspector }: OperatorPageDeps, { user, role }: OperatorViewer) {
  const readStuck = async () => {
    const { stuck, hasMore } = await findStuckMoney(sql, ROWS_OF_A_KIND);
    const inspected = await withMerchantNames(sql, await inspectStuck(inspector, stuck));
    return { inspected, hasMore };
  };
  const readDisputes = async () => {
    const part = { skip: 0, limit: ROWS_OF_A_KIND };
    const found = await listDisputes(sql, {}, 'underReview', part);
    return { ...found, rows: await withMerchantNames(sql, found.rows) };
  };
  const readDisputedOften = async () => {
    const found = await findDisputedOften(sql, ROWS_OF_A_KIND);
    return { ...found, orders: await withMerchantNames(sql, found.orders) };
  };
  const readOverdue = async () => {
    const found = await findOverdueOrders(sql, ROWS_OF_A_KIND);
    return { ...found, orders: await withMerchantNames(sql, found.orders) };
  };
  const readProposals = async () => {
    const open = await listOpenProposals(sql, kindsFor(role), MOST_PROPOSALS);
    return open.filter(({ proposedBy }) => proposedBy !== user.userId);
  };
  const [alerts, stuck, disputes, disputedOften, reviews, failing, overdue, proof, proposals] =
    await Promise.all([
      listAlerts(sql, {}, ROWS_OF_A_KIND),
      readStuck(),
      readDisputes(),
      readDisputedOften(),
      listUnderReview(sql),
      findFailingEndpoints(sql, ROWS_OF_A_KIND),
      readOverdue(),
      findLatestProof(sql),
      readProposals(),
    ]);
  return { alerts, stuck, disputes, disputedOften, reviews, failing, overdue, proof, proposals };
}

function proofNotice(proof: LedgerProof | undefined) {
  if (proof && Date.now() - proof.at.getTime() < PROOF_IS_LATE_MS) return null;
  return notice('wait', [
    'The ledger has not been verified within the last 3 hours: is a worker running? ',
    h('span', null, link('/operator/ledger', 'Ledger')),
  ]);
}
