import { h } from 'preact';
import { z } from 'zod';
import { listAlerts } from '../../alerts/alerts.ts';
import type { Route } from '../../http/define-route.ts';
import type { LedgerProof } from '../../ledger/public.ts';
import { findLatestProof } from '../../ledger/public.ts';
import { withMerchantNames } from '../../merchants/public.ts';
import { listUnderReview } from '../../onboarding/public.ts';
import { findOverdueOrders, listRunningDisputes } from '../../orders/public.ts';
import { findStuckMoney, inspectStuck } from '../../payments/public.ts';
import { findFailingEndpoints } from '../../webhooks/public.ts';
import type { Proposal } from '../../proposals/public.ts';
import { kindsFor, listOpenProposals } from '../../proposals/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { notice, section } from '../view/parts.ts';
import { link } from '../view/url.ts';
import { alertList } from './alerts.ts';
import type { OperatorViewer } from '../viewer.ts';
import type { OperatorPageDeps } from './context.ts';
import { disputeTable } from './dispute-table.ts';
import { actionNotice, moreNote } from './parts.ts';
import { proposalPath } from './propose.ts';
import { proposalTable } from './proposal-tables.ts';
import { failingTable, reviewTable, stuckTable, overdueTable } from './work-tables.ts';

/** Of each kind of work; the alerts and the disputes have pages with all of them. */
const ROWS_OF_A_KIND = 10;

/** One's own are left out of them. */
const MOST_PROPOSALS = 200;

/** The Schedule makes a proof every hour. */
const PROOF_IS_LATE_MS = 3 * 3_600_000;

/** What waits for operators: the first page that they see. */
export function workQueuePage(context: PageContext, deps: OperatorPageDeps): Route[] {
  return definePage(context, {
    audience: 'operator',
    method: 'GET',
    path: '',
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ query, viewer }) => {
    const { role } = viewer;
    const { alerts, stuck, disputes, reviews, failing, overdue, proof, proposals } = await readWork(
      deps,
      viewer,
    );
    const content = [
      actionNotice(query.done),
      proofNotice(proof),
      section(
        'alerts',
        'Alerts',
        alertList(alerts.alerts, role),
        moreNote(alerts.hasMore, link('/operator/alerts', 'All alerts')),
      ),
      proposalsPart(proposals),
      section(
        'stuck',
        'Money stuck for more than 5 minutes',
        stuckTable(stuck.inspected, role),
        moreNote(stuck.hasMore),
      ),
      section(
        'disputes',
        'Disputes under review',
        disputeTable(disputes.rows, 'No dispute waits for a decision.'),
        moreNote(disputes.hasMore, link('/operator/disputes', 'All disputes')),
      ),
      section(
        'reviews',
        'Merchants waiting for a review',
        reviewTable(reviews.slice(0, ROWS_OF_A_KIND)),
        moreNote(reviews.length > ROWS_OF_A_KIND, link('/operator/merchants', 'All merchants')),
      ),
      section(
        'overdue',
        'Orders that wait for their workflow',
        overdueTable(overdue.orders, role),
        moreNote(overdue.hasMore),
      ),
      section(
        'endpoints',
        'Failing webhook endpoints',
        failingTable(failing.endpoints),
        moreNote(failing.hasMore),
      ),
    ];
    return { view: { title: 'Work queue', content } };
  });
}

function proposalsPart(proposals: readonly Proposal[]) {
  return section(
    'proposals',
    'Proposals that you may approve',
    proposalTable(proposals.slice(0, ROWS_OF_A_KIND), 'No proposal waits for you.'),
    moreNote(proposals.length > ROWS_OF_A_KIND, link(proposalPath(), 'All proposals')),
  );
}

async function readWork({ sql, inspector }: OperatorPageDeps, { user, role }: OperatorViewer) {
  const status = 'DISPUTE_UNDER_REVIEW' as const;
  const readStuck = async () => {
    const { stuck, hasMore } = await findStuckMoney(sql, ROWS_OF_A_KIND);
    const inspected = await withMerchantNames(sql, await inspectStuck(inspector, stuck));
    return { inspected, hasMore };
  };
  const readDisputes = async () => {
    const part = { skip: 0, limit: ROWS_OF_A_KIND };
    const found = await listRunningDisputes(sql, { status }, part);
    return { ...found, rows: await withMerchantNames(sql, found.rows) };
  };
  const readOverdue = async () => {
    const found = await findOverdueOrders(sql, ROWS_OF_A_KIND);
    return { ...found, orders: await withMerchantNames(sql, found.orders) };
  };
  const readProposals = async () => {
    const open = await listOpenProposals(sql, kindsFor(role), MOST_PROPOSALS);
    return open.filter(({ proposedBy }) => proposedBy !== user.userId);
  };
  const [alerts, stuck, disputes, reviews, failing, overdue, proof, proposals] = await Promise.all([
    listAlerts(sql, {}, ROWS_OF_A_KIND),
    readStuck(),
    readDisputes(),
    listUnderReview(sql),
    findFailingEndpoints(sql, ROWS_OF_A_KIND),
    readOverdue(),
    findLatestProof(sql),
    readProposals(),
  ]);
  return { alerts, stuck, disputes, reviews, failing, overdue, proof, proposals };
}

function proofNotice(proof: LedgerProof | undefined) {
  if (proof && Date.now() - proof.at.getTime() < PROOF_IS_LATE_MS) return null;
  return notice('wait', [
    'The ledger has not been verified within the last 3 hours: is a worker running? ',
    h('span', null, link('/operator/ledger', 'Ledger')),
  ]);
}
