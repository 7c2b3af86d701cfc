import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { WithMerchantName } from '../../merchants/public.ts';
import type { OperatorRole } from '../../accounts/public.ts';
import { mayDo } from '../../accounts/public.ts';
import type { GatewayCall, OrderView, OrderWorkflowsView } from '../../payments/public.ts';
import { submit } from '../view/fields.ts';
import {
  capitalised,
  deliveryState,
  emptyState,
  facts,
  moment,
  money,
  objectHead,
  orderStatus,
  section,
  wordsOf,
} from '../view/parts.ts';
import { shortId, shortMoment } from '../view/short-texts.ts';
import { earlierLink, STEP_LABELS, timeline } from '../view/steps.ts';
import { dataTable } from '../view/table.ts';
import { form, link } from '../view/url.ts';
import { whoCell } from './audit-entry.ts';
import { disputeRecords } from './dispute-records.ts';
import { merchantIn, orderLink } from './parts.ts';

/** The parts of an operator's page of an order. @param actions links to what `role` may do */
export function orderContent(
  order: WithMerchantName<OrderView>,
  workflows: OrderWorkflowsView,
  {
    actions,
    mails,
    role,
  }: {
    actions: ComponentChildren;
    mails: ComponentChildren;
    role: OperatorRole;
  },
): ComponentChildren[] {
  return [
    h('p', { class: 'lead' }, order.inWords ?? order.doing),
    actions,
    h(
      'div',
      { class: 'split' },
      h(
        'div',
        null,
        order.disputes.length > 0 &&
          section(
            'disputes',
            'Disputes',
            disputeRecords(order.disputes),
            h(
              'p',
              null,
              link(`/operator/disputes/${order.orderNumber}`, 'Dispute and its history'),
            ),
          ),
        timelinePart(order, `/operator/orders/${order.orderNumber}`),
        moneyPart(order),
        deliveriesPart(order, role),
        mails,
      ),
      h('aside', { 'aria-label': 'Details' }, factsPart(order), workflowPart(workflows)),
    ),
  ];
}

/** The list of orders, for the way to a page of one. */
export const ORDERS = { path: '/operator/orders', list: 'Orders', one: 'Order' };

/** The amount and the status, and which order it is. @param of the list that the page belongs to */
export function orderHead(
  order: Pick<OrderView, 'orderNumber' | 'description' | 'amountPaise' | 'status'>,
  of: { path: string; list: string; one: string } = ORDERS,
) {
  return objectHead(
    { ...of, one: [orderLink(order.orderNumber), ' · ', h('bdi', null, order.description)] },
    h('span', { class: 'hidden' }, `${of.one} ${order.orderNumber}: `),
    money(order.amountPaise),
    orderStatus(order.status),
  );
}

function factsPart(order: WithMerchantName<OrderView>) {
  const { buyer, refund, next } = order;
  return section(
    'order',
    'Order',
    facts({
      'Pending operation': order.doing && capitalised(order.doing),
      Next: next && [
        moment(new Date(next.at)),
        h('p', { class: 'hint' }, capitalised(next.action)),
      ],
      'Dispute waiting since': order.waitingDisputeSince && moment(order.waitingDisputeSince),
      Merchant: merchantIn(order),
      "Merchant's own id": order.merchantOrderId,
      Buyer: h(
        'span',
        { dir: 'auto' },
        [buyer.name, buyer.email, buyer.phone].filter(Boolean).join(', '),
      ),
      Gateway: h('code', null, order.gateway),
      Refund: refund && [
        money(refund.amountPaise),
        ', ',
        refund.processedAt ? moment(refund.processedAt) : 'under way',
        refund.reason && h('p', { class: 'hint' }, wordsOf(refund.reason)),
      ],
      Created: moment(order.createdAt),
      Changed: moment(order.updatedAt),
      'API status': h('code', null, order.status),
    }),
  );
}

function moneyPart(order: OrderView) {
  const { settledOutside: settled, money: balances } = order;
  return section(
    'money',
    'Money',
    facts({
      Held: money(balances.heldPaise),
      Released: money(balances.releasedPaise),
      Refunded: money(balances.refundedPaise),
      'Surplus to refund': balances.surplusPaise > 0 && money(balances.surplusPaise),
      'Settled outside': settled && [
        [settled.outcome, settled.reference].filter(Boolean).join(', '),
        ` by ${settled.actor}${settled.checkedAt ? '' : ', not checked at the gateway'}: `,
        h('span', { dir: 'auto' }, settled.reason),
      ],
    }),
    h('h3', null, 'Payments'),
    dataTable({
      caption: 'Captures',
      rows: order.payments,
      empty: 'Nothing was captured.',
      columns: [
        {
          title: 'Payment',
          cell: ({ gatewayPaymentId }) => shortId('payment id', gatewayPaymentId),
        },
        { title: 'UTR', cell: ({ utr }) => utr },
        { title: 'Amount', isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
        { title: 'Captured', cell: ({ capturedAt }) => shortMoment(capturedAt) },
        { title: 'At the gateway', cell: gatewayState },
      ],
    }),
    order.reversals.length > 0 &&
      dataTable({
        caption: 'Refunds and chargebacks made at the gateway',
        rows: order.reversals,
        empty: 'None.',
        columns: [
          { title: 'Reversal', cell: ({ reversalId }) => shortId('reversal id', reversalId) },
          { title: 'Kind', cell: ({ kind }) => wordsOf(kind) },
          { title: 'Amount', isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
          { title: 'Status', cell: ({ state }) => wordsOf(state) },
          { title: 'Recorded', cell: ({ recordedAt }) => shortMoment(recordedAt) },
        ],
      }),
    h('h3', null, 'Lines of the ledger'),
    linesTable(order),
    h('h3', null, 'Payment sessions'),
    sessionsTable(order),
  );
}

function gatewayState(payment: OrderView['payments'][number]): ComponentChildren {
  const { surplusReason, refundedAt, heldAt, holdRefusedAt, isWhole, currency } = payment;
  if (!isWhole) {
    return [`Not usable for the order: ${currency}, `, money(payment.refundedPaise), ' refunded'];
  }
  if (surplusReason !== null) {
    return [
      `${wordsOf(surplusReason)}, `,
      refundedAt ? ['refunded ', shortMoment(refundedAt)] : 'not refunded yet',
    ];
  }
  if (heldAt) return ['Held ', shortMoment(heldAt)];
  return holdRefusedAt ? ['The hold was refused ', shortMoment(holdRefusedAt)] : 'Not held yet';
}

function linesTable({ lines }: OrderView) {
  return dataTable({
    caption: 'Lines of the ledger',
    rows: lines,
    empty: 'The ledger has no line of this order.',
    columns: [
      { title: 'At', cell: ({ at }) => shortMoment(at) },
      { title: 'Operation', cell: ({ operation }) => wordsOf(operation) },
      { title: 'From', cell: ({ from }) => h('code', null, from) },
      { title: 'To', cell: ({ to }) => h('code', null, to) },
      { title: 'Amount', isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
    ],
  });
}

function sessionsTable({ sessions }: OrderView) {
  return dataTable({
    caption: 'Payment sessions',
    rows: sessions,
    empty: 'No payment session was opened.',
    columns: [
      { title: 'Session', cell: ({ sessionId }) => shortId('session id', sessionId) },
      {
        title: 'At the gateway',
        cell: ({ gatewaySessionId }) =>
          gatewaySessionId && shortId('id at the gateway', gatewaySessionId),
      },
      { title: 'Status', cell: ({ state }) => wordsOf(state) },
      { title: 'Until', cell: ({ expiresAt }) => shortMoment(expiresAt) },
    ],
  });
}

function workflowPart({ workflows, gatewayCalls, temporalProblem }: OrderWorkflowsView) {
  const content =
    temporalProblem === null
      ? [
          workflows.length === 0 &&
            emptyState('Temporal has no workflow of this order; it may have passed its retention.'),
          workflows.length > 0 &&
            h(
              'ul',
              { class: 'list' },
              workflows.map(({ workflowId, link: url, status }) =>
                h(
                  'li',
                  { key: workflowId },
                  shortId('workflow id', workflowId),
                  ` ${wordsOf(status)} `,
                  url !== null && h('a', { href: url, rel: 'noreferrer' }, 'In the Temporal UI'),
                ),
              ),
            ),
          gatewayCalls.length > 0 && callsTable(gatewayCalls),
        ]
      : [h('p', null, 'Unknown: Temporal cannot be read. ', temporalProblem)];
  return section('workflow', 'Workflow and calls to the gateway', ...content);
}

function callsTable(calls: readonly GatewayCall[]) {
  return dataTable({
    caption: 'Calls to the gateway that have not succeeded',
    rows: calls,
    empty: 'None.',
    columns: [
      { title: 'Call', cell: ({ what }) => capitalised(what) },
      { title: 'Status', cell: ({ state }) => wordsOf(state) },
      { title: 'Attempt', isNumber: true, cell: ({ attempt }) => attempt },
      { title: 'Last try', cell: ({ lastTriedAt }) => lastTriedAt && shortMoment(lastTriedAt) },
      { title: 'Next try', cell: ({ nextTryAt }) => nextTryAt && shortMoment(nextTryAt) },
      {
        title: 'Last error',
        cell: ({ lastError }) => h('span', { dir: 'auto' }, capitalised(lastError ?? '–')),
      },
    ],
  });
}

/** The steps with their texts, the latest first. @param path of the page, for the way to earlier ones */
export function timelinePart(
  { timeline: steps, earlier }: Pick<OrderView, 'timeline' | 'earlier'>,
  path: string,
) {
  const entries = steps.map(({ kind, status, at, actor, details }) => ({
    what: STEP_LABELS[kind],
    code: `${kind}: ${status}`,
    at: new Date(at),
    by: actor && whoCell({ actor }),
    details,
  }));
  return section(
    'timeline',
    'Timeline',
    timeline(entries.toReversed()),
    earlierLink(path, earlier),
  );
}

function deliveriesPart({ orderNumber, deliveries }: OrderView, role: OperatorRole) {
  return section(
    'deliveries',
    'Webhooks',
    dataTable({
      caption: 'Deliveries',
      rows: deliveries,
      empty: 'No webhook was sent.',
      columns: [
        {
          title: 'Webhook',
          cell: ({ deliveryId, event }) => [
            event,
            h('br', null),
            shortId('delivery id', deliveryId),
          ],
        },
        { title: 'Status', cell: ({ state }) => deliveryState(state) },
        {
          title: 'Attempts',
          cell: ({ attempts }) => {
            const last = attempts.at(-1);
            return last
              ? `${attempts.length}, the last: ${last.error ?? String(last.statusCode)}`
              : '0';
          },
        },
        {
          title: 'Next attempt',
          cell: ({ nextAttemptAt }) => nextAttemptAt && shortMoment(new Date(nextAttemptAt)),
        },
        {
          title: 'Action',
          cell: ({ deliveryId }) =>
            mayDo(role, 'delivery.retry') &&
            form(
              `/operator/orders/${orderNumber}/deliveries/${deliveryId}/retry`,
              { 'aria-label': `Send ${deliveryId} again` },
              submit('Send again', 'small'),
            ),
        },
      ],
    }),
  );
}
