import { h } from 'preact';
import { z } from 'zod';
import type { DisputeList, OrderRow } from '../../orders/public.ts';
import { DISPUTE_LISTS } from '../../orders/public.ts';
import { shorten } from '../../pages/format.ts';
import type { PageSizes } from '../view/pages.ts';
import { chips, emptyText, pageFieldsOf, pages, partOf } from '../view/pages.ts';
import { emptyState, moment, money, orderStatus } from '../view/parts.ts';
import { link } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import { actionForm } from './action-form.ts';
import { words } from './order-parts.ts';
import type { OrderPagesDeps } from './parts.ts';
import { allowedActions, orderPath, ordersPage, waitingSentence } from './parts.ts';

const SHOWN_CHARACTERS = 400;

/** Few rows, because each has both sides' words and a form. */
const SIZES: PageSizes = [10, 25, 50];

const TITLES = {
  unanswered: 'Needs your answer',
  underReview: 'With the operators',
  running: 'Not ended',
  ended: 'Ended',
} as const satisfies Record<DisputeList, string>;

const EMPTY = {
  running: 'No buyer disputes an order.',
  unanswered: 'No dispute waits for your answer.',
  underReview: 'No dispute waits for a decision.',
  ended: 'No dispute has ended yet.',
} as const satisfies Record<DisputeList, string>;

const disputesQuery = z.object({
  list: z.enum(DISPUTE_LISTS).optional().catch(undefined),
  ...pageFieldsOf(SIZES),
});

/** A merchant's disputes: those that have not ended by deadline, or those that have. */
export const merchantDisputePages = ordersPage('GET /disputes', { query: disputesQuery }).handledBy(
  async ({ viewer, query: { list: asked, ...chosen } }, deps) => {
    const owner = ownerOf(viewer);
    const read = (list: DisputeList) => deps.orders.listDisputes(owner, list, partOf(chosen));
    const first = await read(asked ?? 'unanswered');
    // Without a choice: the unanswered disputes, or all running ones if every one is answered.
    const list = asked ?? (first.rows.length > 0 ? 'unanswered' : 'running');
    const isRead = list === (asked ?? 'unanswered');
    const { rows, total, hasMore } = isRead ? first : await read(list);
    const path = pathOf(viewer, '/disputes');
    const next = hasMore ? rows.at(-1)?.orderNumber : undefined;
    return {
      view: {
        title: 'Disputes',
        content: [
          chips('Which disputes', { path, filters: {}, name: 'list', chosen: list }, TITLES),
          rows.length === 0 && emptyState(emptyText(chosen, EMPTY[list])),
          ...rows.map((order) => disputeCard(deps, viewer, order)),
          pages({
            path,
            filters: { list },
            chosen,
            sizes: SIZES,
            shown: rows.length,
            total,
            next,
          }),
        ],
      },
    };
  },
);

function disputeCard({ actions }: OrderPagesDeps, viewer: MerchantViewer, order: OrderRow) {
  const now = new Date();
  const offered = allowedActions(viewer, actions.of(order));
  const evidence = offered.find(({ id }) => id === 'submitEvidence');
  const heading = `dispute-${order.orderNumber}`;
  return h(
    'section',
    { key: order.orderNumber, class: 'card', 'aria-labelledby': heading },
    h(
      'h2',
      { id: heading },
      link(orderPath(order), order.merchantOrderId ?? order.orderNumber),
      ' ',
      money(order.amountPaise),
      ' ',
      orderStatus(order.status),
    ),
    order.disputeRespondBy === null
      ? endedLine(order, now)
      : waitingSentence(order, { now, isSuspended: viewer.merchantStatus === 'SUSPENDED' }),
    ...wordsOf(order, now),
    h(
      'div',
      { class: 'acts' },
      evidence && actionForm(order, evidence),
      link(orderPath(order), 'Open the order', { class: 'button second' }),
    ),
  );
}

function endedLine({ disputeEndedAt: at }: OrderRow, now: Date) {
  return at && h('p', null, 'Ended ', moment(at, now));
}

/** Only for the latest dispute; the order's page has all of them in full. */
function wordsOf(order: OrderRow, now: Date) {
  const { disputeReason: reason, disputeEvidence: evidence, disputeResolution } = order;
  const { disputeDecidedFor: winner, disputeDecisionReason: decision } = order;
  const said = (who: string, at: Date | null, text: string | null) =>
    text === null ? null : words(who, at, shorten(text, SHOWN_CHARACTERS), now);
  return [
    said('The buyer', order.disputeRaisedAt, reason),
    said('You', null, evidence),
    said('You, to resolve it', order.disputeEndedAt, disputeResolution),
    winner && said(`The decision for the ${winner}`, order.disputeDecidedAt, decision),
  ];
}
