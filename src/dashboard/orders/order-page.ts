import { h } from 'preact';
import { transitionOf } from '../../domain/index.ts';
import type { RunningLine } from '../../ledger/public.ts';
import type { OrderDetails, OrderRow } from '../../orders/public.ts';
import { deadlineOf, markErased } from '../../orders/public.ts';
import { refused } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { orderHead } from '../view/order.ts';
import { facts, hint, moment, money, more, notice, section, split } from '../view/parts.ts';
import { copyable, copyButton, wholeId } from '../view/texts.ts';
import { icon } from '../view/url.ts';
import { pathOf } from '../viewer.ts';
import { actionForm, apiDrawer } from './action-form.ts';
import type { OrderAction } from './actions.ts';
import { disputesSection, ledgerSection, orderTimeline } from './order-parts.ts';
import type { OrderPagesDeps } from './parts.ts';
import { orderPath, waitingSentence } from './parts.ts';

export interface OrderPageContent {
  details: OrderDetails;
  lines: RunningLine[];
  /** Empty while the merchant is not active. */
  actions: OrderAction[];
  isSuspended: boolean;
  isHoldRefused: boolean;
  /** Whether earlier entries of the timeline are shown: the page then does not reload itself. */
  isEarlier?: boolean;
  done?: OrderAction | undefined;
}

const HOLD_REFUSED =
  'The payment gateway does not accept the transfer of this money to your account at the moment. The operators have been told, and it is tried again. Your money is not lost.';

export function orderView(deps: OrderPagesDeps, content: OrderPageContent): View {
  const { details, lines, isSuspended, done } = content;
  const { order, now, unapplied } = details;
  const name = order.merchantOrderId ?? order.orderNumber;
  return {
    title: `Order ${name}`,
    hasOwnHeading: true,
    ...(!content.isEarlier && {
      live: { path: orderPath(order, '/version'), version: details.version },
    }),
    content: [
      orderHead(
        { path: pathOf(order, '/orders'), list: 'Orders' },
        { kind: 'Order', name, one: name },
        markErased(order),
      ),
      done && notice('good', `Done: ${done.label}.`, 'status'),
      waitingSentence(order, { now, isSuspended, unapplied }),
      content.isHoldRefused && notice('wait', HOLD_REFUSED),
      refusalWithoutForm(content),
      actionList(deps, content),
      split(
        [
          disputesSection(details.disputes, now),
          orderTimeline(order, details.timeline, now),
          paymentFacts(deps, details),
          ledgerSection(lines, now),
        ],
        'Details',
        [
          orderFacts(order, now),
          sandboxTools(content),
          apiDrawer(deps.actions, order, content.actions),
        ],
      ),
    ],
  };
}

/** The refusal of an action that the order's state no longer offers, whose form is gone. */
function refusalWithoutForm({ actions, details: { order } }: OrderPageContent) {
  const forms = actions.map(({ id }) => orderPath(order, `/${id}`));
  return refused({ isOf: (path) => !forms.includes(path) });
}

const isPayable = (order: OrderRow, unapplied: OrderDetails['unapplied']) =>
  transitionOf(order, 'pay') !== undefined && order.pendingOperation === null && unapplied === null;

/** Each action opens its form; the likely ones come first. */
function actionList(
  { paymentUrlOf }: OrderPagesDeps,
  { actions, details: { order, unapplied } }: OrderPageContent,
) {
  const forms = actions
    .filter(({ isTestHelper }) => !isTestHelper)
    .map((action) => actionForm(order, action));
  const copy =
    isPayable(order, unapplied) && copyButton('Copy the payment link', paymentUrlOf(order));
  if (forms.length === 0 && !copy) return null;
  return h('section', { class: 'acts', 'aria-label': 'What you can do' }, copy, ...forms);
}

function sandboxTools({ details: { order, now }, actions }: OrderPageContent) {
  const tools = actions.filter(({ isTestHelper }) => isTestHelper);
  if (tools.length === 0) return null;
  const until = deadlineOf(order);
  // After as many seconds the next deadline has passed.
  const seconds = until && Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000));
  const suggested = seconds === null ? {} : { seconds: String(seconds) };
  return h(
    'section',
    { class: 'card tools', 'aria-labelledby': 'tools' },
    h('h2', { id: 'tools' }, icon('flask-conical'), ' Sandbox tools'),
    hint('Act as the buyer, or move the clock of this order.'),
    ...tools.map((action) => actionForm(order, action, suggested)),
  );
}

function orderFacts(row: OrderRow, now: Date) {
  const order = markErased(row);
  return section(
    'order',
    'Order',
    facts({
      'Order number': wholeId('order number', order.orderNumber),
      'Your id': order.merchantOrderId && h('code', null, order.merchantOrderId),
      'API status': h('code', null, order.status),
      For: h('bdi', null, order.description),
      Buyer: order.buyerName !== '' && h('bdi', null, order.buyerName),
      'E-mail': order.buyerEmail,
      Phone: order.buyerPhone,
      Created: moment(order.createdAt, now),
    }),
  );
}

function paymentFacts({ paymentUrlOf }: OrderPagesDeps, { order, now, unapplied }: OrderDetails) {
  return section(
    'payment',
    'Payment',
    facts({
      Paid: order.paidAt && moment(order.paidAt, now),
      'Payment id': order.gatewayPaymentId && wholeId('payment id', order.gatewayPaymentId),
      UTR: order.paymentUtr && wholeId('UTR', order.paymentUtr),
      Refund: order.refundAmountPaise !== null && money(order.refundAmountPaise),
      'Refund reason': order.refundReason?.replaceAll('_', ' '),
      Refunded: order.refundProcessedAt && moment(order.refundProcessedAt, now),
      Cancelled: order.cancelledAt && moment(order.cancelledAt, now),
      'Link expires': isPayable(order, unapplied) && moment(order.paymentLinkExpiresAt, now),
    }),
    order.erasedAt === null &&
      more("The buyer's page", copyable('payment link', paymentUrlOf(order))),
  );
}
