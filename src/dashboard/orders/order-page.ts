import { h } from 'preact';
import type { RunningLine } from '../../ledger/public.ts';
import type { OrderAction, OrderDetails, OrderRow } from '../../orders/public.ts';
import { markErased, waitingOf } from '../../orders/public.ts';
import type { View } from '../view/layout.ts';
import { copyable, facts, moment, money, notice, orderStatus, section } from '../view/parts.ts';
import type { RefusedAction } from './action-form.ts';
import { actionForm } from './action-form.ts';
import type { OrderPagesDeps } from './deps.ts';
import { orderPath } from './deps.ts';
import { disputesSection } from './dispute-view.ts';
import { ledgerSection } from './ledger-view.ts';
import { waitingSentence } from './sentence.ts';
import { timelineSection } from './timeline-view.ts';

/** What the page of an order shows beside the order. */
export interface OrderPageContent {
  details: OrderDetails;
  lines: RunningLine[];
  /** Empty while the merchant is not active. */
  actions: OrderAction[];
  isSuspended: boolean;
  isHoldRefused: boolean;
  refused?: RefusedAction;
  /** The action that was just carried out. */
  done?: OrderAction | undefined;
}

const HOLD_REFUSED =
  'The payment gateway does not accept the transfer of this money to your account at the moment. The operators have been told, and it is tried again every hour. Your money is not lost.';

/** The page of one order. */
export function orderView(deps: OrderPagesDeps, content: OrderPageContent): View {
  const { details, lines, isSuspended, refused, done } = content;
  const { order, now } = details;
  return {
    title: `Order ${order.merchantOrderId ?? order.orderNumber}`,
    live: { path: orderPath(order, '/version'), version: details.version },
    content: [
      done && notice('good', `Done: ${done.label}.`, 'status'),
      waitingSentence(order, { now, isSuspended }),
      content.isHoldRefused && notice('wait', HOLD_REFUSED),
      refusalWithoutForm(content, refused),
      actionsSection(deps, content, 'actions'),
      actionsSection(deps, content, 'sandbox'),
      h('div', { class: 'columns' }, orderFacts(order, now), paymentFacts(deps, order, now)),
      disputesSection(details.disputes, now),
      timelineSection(order, details.timeline, now),
      ledgerSection(lines, now),
    ],
  };
}

/** The refusal of an action that the order's state no longer offers, whose form is gone. */
function refusalWithoutForm({ actions }: OrderPageContent, refused: RefusedAction | undefined) {
  const isShown = refused && actions.some(({ id }) => id === refused.id);
  return refused && !isShown && notice('bad', refused.message, 'alert');
}

const ACTION_SECTIONS = {
  actions: { title: 'What you can do', isTestHelper: false },
  sandbox: { title: 'Sandbox: act as the buyer, move the clock', isTestHelper: true },
} as const;

function actionsSection(
  { actions: api }: OrderPagesDeps,
  { details: { order, now }, actions, isSuspended, refused }: OrderPageContent,
  id: keyof typeof ACTION_SECTIONS,
) {
  const { title, isTestHelper } = ACTION_SECTIONS[id];
  const shown = actions.filter((action) => action.isTestHelper === isTestHelper);
  if (shown.length === 0) return null;
  const { until } = waitingOf(order, { now, isSuspended });
  // So that the next deadline passes.
  const seconds = until && Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000));
  const suggested = seconds === null ? {} : { seconds: String(seconds) };
  return section(
    id,
    title,
    ...shown.map((action) => actionForm(api, order, action, { refused, suggested })),
  );
}

function orderFacts(row: OrderRow, now: Date) {
  const order = markErased(row);
  return section(
    'order',
    'Order',
    facts({
      Status: orderStatus(order.status),
      Amount: money(order.amountPaise),
      For: h('bdi', null, order.description),
      'Order number': h('code', null, order.orderNumber),
      'Your id': order.merchantOrderId && h('code', null, order.merchantOrderId),
      Buyer: order.buyerName !== '' && h('bdi', null, order.buyerName),
      'E-mail': order.buyerEmail,
      Phone: order.buyerPhone,
      Created: moment(order.createdAt, now),
    }),
  );
}

function paymentFacts({ paymentUrlOf }: OrderPagesDeps, order: OrderRow, now: Date) {
  const isOpen = order.status === 'ACCEPTED' && order.pendingOperation === null;
  return section(
    'payment',
    'Payment',
    facts({
      Paid: order.paidAt ? moment(order.paidAt, now) : 'Not yet',
      'Payment id': order.gatewayPaymentId && h('code', null, order.gatewayPaymentId),
      UTR: order.paymentUtr && h('code', null, order.paymentUtr),
      Refund: order.refundAmountPaise !== null && money(order.refundAmountPaise),
      'Refund reason': order.refundReason?.replaceAll('_', ' '),
      Refunded: order.refundProcessedAt && moment(order.refundProcessedAt, now),
      Cancelled: order.cancelledAt && moment(order.cancelledAt, now),
      'Link expires': isOpen && moment(order.paymentLinkExpiresAt, now),
    }),
    order.erasedAt === null && [
      h('p', { class: 'hint' }, "The buyer's page:"),
      copyable('payment link', paymentUrlOf(order)),
    ],
  );
}
