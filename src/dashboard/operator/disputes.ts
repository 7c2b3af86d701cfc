import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { z } from 'zod';
import { mayDo } from '../../accounts/public.ts';
import type { DisputeStatus } from '../../domain/index.ts';
import { DISPUTE_STATUSES, transitionOf } from '../../domain/index.ts';
import type { WithMerchantName } from '../../merchants/public.ts';
import { withMerchantNames, writeBuyerView } from '../../merchants/public.ts';
import type { DisputedOrder, OrderRow } from '../../orders/public.ts';
import {
  ERASED,
  findDisputeHistory,
  findOrderAnywhere,
  listDisputes,
  markErased,
  presentToOperator,
  readDisputes,
  readTimeline,
} from '../../orders/public.ts';
import { listOpenAbout } from '../../proposals/public.ts';
import { orderHead } from '../view/order.ts';
import { chips, emptyText, pageFields, pages, partOf } from '../view/pages.ts';
import {
  emptyState,
  facts,
  moment,
  money,
  notice,
  orderStatus,
  section,
  split,
} from '../view/parts.ts';
import { disputeRecords, disputeTable } from './dispute-parts.ts';
import { actionForm } from './order-actions.ts';
import { timelinePart } from './order-view.ts';
import type { OperatorPageDeps } from './parts.ts';
import { actionNotice, jumpTo, merchantIn, moreNote, operatorPage, orderLink } from './parts.ts';
import { openProposals } from './proposal-tables.ts';

const EARLIER_ORDERS = 10;

const CHIPS = {
  '': 'All',
  DISPUTE_UNDER_REVIEW: 'Wait for a decision',
  DISPUTE_OPEN: "Wait for the merchant's answer",
} as const satisfies Record<DisputeStatus | '', string>;

const LISTS = {
  '': 'running',
  DISPUTE_UNDER_REVIEW: 'underReview',
  DISPUTE_OPEN: 'open',
} as const satisfies Record<keyof typeof CHIPS, string>;

const DISPUTES = { path: '/operator/disputes', list: 'Disputes' };

export const disputePages = [
  operatorPage('GET /disputes', {
    query: z.object({
      status: z.enum(['', ...DISPUTE_STATUSES]).optional(),
      ...pageFields,
    }),
  }).handledBy(async ({ query: { status, ...chosen } }, deps) => {
    const list = LISTS[status ?? ''];
    const { rows, total, hasMore } = await listDisputes(deps.sql, {}, list, partOf(chosen));
    const next = hasMore ? rows.at(-1)?.orderNumber : undefined;
    const path = '/operator/disputes';
    const content = [
      chips('Which disputes', { path, filters: {}, name: 'status', chosen: status }, CHIPS),
      disputeTable(
        await withMerchantNames(deps.sql, rows),
        emptyText(chosen, 'No dispute is running.'),
      ),
      pages({
        path,
        filters: { status },
        chosen,
        shown: rows.length,
        total,
        next,
      }),
    ];
    return { view: { title: 'Disputes', content } };
  }),
  operatorPage('GET /disputes/{order}', {
    params: z.object({ order: z.string() }),
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ params, query, viewer, actor }, deps) => {
    const order = await findOrderAnywhere(deps.sql, params.order);
    const { orderNumber: number } = order;
    await writeBuyerView(deps.sql, actor, order);
    const mayDecide = mayDo(viewer.role, 'dispute.decide');
    const content = [
      orderHead(
        DISPUTES,
        { kind: 'Dispute of', name: number, one: orderLink(number) },
        markErased(order),
      ),
      deadlineSentence(order),
      mayDecide && transitionOf(order, 'decideForBuyer') && jumpTo('decision', 'Decide'),
      actionNotice(query.done),
      openProposals(await listOpenAbout(deps.sql, order.orderNumber)),
      ...(await disputeContent(deps, order, mayDecide)),
    ];
    return {
      view: { title: `Dispute of ${order.orderNumber}`, content, hasOwnHeading: true },
    };
  }),
];

async function disputeContent(
  { sql }: OperatorPageDeps,
  order: OrderRow,
  mayDecide: boolean,
): Promise<ComponentChildren[]> {
  const [disputes, part, history, [named]] = await Promise.all([
    readDisputes(sql, order.orderNumber),
    readTimeline(sql, order.orderNumber),
    findDisputeHistory(sql, order, EARLIER_ORDERS),
    withMerchantNames(sql, [order]),
  ]);
  const { entries } = presentToOperator(order, part);
  return [
    split(
      [
        section(
          'texts',
          'Both sides',
          disputes.length === 0
            ? emptyState('This order was never disputed.')
            : disputeRecords(disputes.toReversed()),
        ),
        historyPart(history),
        timelinePart({ timeline: entries, earlier: part.earlier, orderNumber: order.orderNumber }),
      ],
      'Decision and details',
      [decisionPart(order, mayDecide), named && factsPart(named)],
    ),
  ];
}

/** Until when the dispute must be decided; null once it has ended. */
function deadlineSentence({ disputeRespondBy, operatorReview }: OrderRow) {
  if (disputeRespondBy === null) return null;
  const before = operatorReview
    ? 'Only an operator decides this dispute for the merchant. Without a decision, the buyer is refunded '
    : 'Without a decision or a resolution, the buyer is refunded ';
  return h('p', { class: 'lead' }, before, moment(disputeRespondBy), '.');
}

function factsPart(order: WithMerchantName<OrderRow>) {
  return section(
    'order',
    'Order',
    facts({
      Merchant: merchantIn(order),
      Buyer: h(
        'span',
        { dir: 'auto' },
        order.erasedAt === null
          ? [order.buyerName, order.buyerEmail, order.buyerPhone].filter(Boolean).join(', ')
          : ERASED,
      ),
    }),
  );
}

function decisionPart(order: OrderRow, mayDecide: boolean) {
  if (!transitionOf(order, 'decideForBuyer')) return null;
  const content = mayDecide
    ? actionForm(order.orderNumber, 'decide')
    : notice('plain', 'An operator with the role finance or admin decides this dispute.');
  return section('decision', 'Decision', content);
}

function historyPart({ orders, hasMore }: { orders: DisputedOrder[]; hasMore: boolean }) {
  return section(
    'history',
    'Earlier disputes between this buyer and this merchant',
    orders.length === 0 && emptyState('There are none.'),
    orders.map((order) =>
      h(
        'div',
        { key: order.orderNumber, class: 'dispute' },
        h(
          'p',
          null,
          orderLink(order.orderNumber),
          ' ',
          orderStatus(order.status),
          ' ',
          money(order.amountPaise),
          h('span', { class: 'hint' }, ` same ${sameBy(order)}, `, moment(order.createdAt)),
        ),
        disputeRecords(order.disputes),
      ),
    ),
    moreNote(hasMore),
  );
}

function sameBy({ sameEmail, samePhone }: DisputedOrder): string {
  if (sameEmail && samePhone) return 'e-mail and phone';
  return sameEmail ? 'e-mail' : 'phone';
}
