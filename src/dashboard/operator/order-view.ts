import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { OperatorRole } from '../../accounts/public.ts';
import { mayDo } from '../../accounts/public.ts';
import type { WithMerchantName } from '../../merchants/public.ts';
import type { GatewayCall, OrderView, OrderWorkflowsView } from '../../payments/public.ts';
import { submit } from '../view/fields.ts';
import { STEP_LABELS, timelineSection } from '../view/order.ts';
import {
  capitalised,
  deliveryState,
  emptyState,
  facts,
  hint,
  moment,
  money,
  section,
  split,
  wordsOf,
} from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortId, shortMoment } from '../view/texts.ts';
import { form, link } from '../view/url.ts';
import { whoCell } from './audit-entry.ts';
import { disputeRecords } from './dispute-parts.ts';
import { moneyPart } from './order-money.ts';
import { merchantIn } from './parts.ts';

/** @param actions links to what `role` may do */
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
    split(
      [
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
        timelinePart(order),
        moneyPart(order),
        deliveriesPart(order, role),
        mails,
      ],
      'Details',
      [factsPart(order), workflowPart(workflows)],
    ),
  ];
}

/** The list to which the page of an order links back. */
export const ORDERS = { path: '/operator/orders', list: 'Orders' };

function factsPart(order: WithMerchantName<OrderView>) {
  const { buyer, refund, next } = order;
  return section(
    'order',
    'Order',
    facts({
      'Pending operation': order.doing && capitalised(order.doing),
      Next: next && [moment(new Date(next.at)), hint(capitalised(next.action))],
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
        refund.reason && hint(wordsOf(refund.reason)),
      ],
      Created: moment(order.createdAt),
      Changed: moment(order.updatedAt),
      'API status': h('code', null, order.status),
    }),
  );
}

function workflowPart({ workflows, gatewayCalls, temporalProblem }: OrderWorkflowsView) {
  const title = 'Workflow and calls to the gateway';
  if (temporalProblem !== null) {
    const problem = h('p', null, 'Unknown: Temporal cannot be read. ', temporalProblem);
    return section('workflow', title, problem);
  }
  return section(
    'workflow',
    title,
    workflows.length === 0
      ? emptyState('Temporal has no workflow of this order; it may have passed its retention.')
      : h(
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
  );
}

function callsTable(calls: readonly GatewayCall[]) {
  return dataTable({
    caption: 'Calls to the gateway that have not succeeded',
    rows: calls,
    empty: 'None.',
    columns: {
      Call: ({ what }) => capitalised(what),
      Status: ({ state }) => wordsOf(state),
      Attempt: { isNumber: true, cell: ({ attempt }) => attempt },
      'Last try': ({ lastTriedAt }) => lastTriedAt && shortMoment(lastTriedAt),
      'Next try': ({ nextTryAt }) => nextTryAt && shortMoment(nextTryAt),
      'Last error': ({ lastError }) => h('span', { dir: 'auto' }, capitalised(lastError ?? '–')),
    },
  });
}

/** The latest step first. */
export function timelinePart({
  timeline: steps,
  earlier,
  orderNumber,
}: Pick<OrderView, 'timeline' | 'earlier' | 'orderNumber'>) {
  const entries = steps.map(({ kind, status, at, actor, details }) => ({
    what: STEP_LABELS[kind],
    code: `${kind}: ${status}`,
    at: new Date(at),
    by: actor && whoCell({ actor }),
    details,
  }));
  return timelineSection(entries, { path: `/operator/orders/${orderNumber}`, earlier });
}

function deliveriesPart({ orderNumber, deliveries }: OrderView, role: OperatorRole) {
  return section(
    'deliveries',
    'Webhooks',
    dataTable({
      caption: 'Deliveries',
      rows: deliveries,
      empty: 'No webhook was sent.',
      columns: {
        Webhook: ({ deliveryId, event }) => [
          event,
          h('br', null),
          shortId('delivery id', deliveryId),
        ],
        Status: ({ state }) => deliveryState(state),
        Attempts: ({ attempts }) => {
          const last = attempts.at(-1);
          return last
            ? `${attempts.length}, the last: ${last.error ?? String(last.statusCode)}`
            : '0';
        },
        'Next attempt': ({ nextAttemptAt }) => nextAttemptAt && shortMoment(nextAttemptAt),
        Action: ({ deliveryId }) =>
          mayDo(role, 'delivery.retry') &&
          form(
            `/operator/orders/${orderNumber}/deliveries/${deliveryId}/retry`,
            { 'aria-label': `Send ${deliveryId} again` },
            submit('Send again', 'small'),
          ),
      },
    }),
  );
}
