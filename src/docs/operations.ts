import type { NextOperation, OperationNotes } from './openapi/openapi-responses.ts';
import { cursorOf } from '../http/input/cursor.ts';
import { EXAMPLE_ORDERS, EXAMPLE_TIMELINE, exampleEvent } from '../orders/public.ts';
import type { Order } from '../orders/public.ts';

/** A response in the standard envelope. */
const response = (message: string, data: object, timestamp: string) => ({
  success: true,
  message,
  data,
  timestamp,
});
const orderResponse = (message: string, order: Order) => response(message, order, order.updated_at);

/** Links to operations on the order in the response. */
const onNewOrder = (...operationIds: string[]): NextOperation[] =>
  operationIds.map((operationId) => ({
    operationId,
    parameters: { id: '$response.body#/data/order_number' },
  }));

/** Links to operations on the order of the request. */
const onSameOrder = (...operationIds: string[]): NextOperation[] =>
  operationIds.map((operationId) => ({ operationId, parameters: { id: '$request.path.id' } }));

const EXAMPLE_SESSION = {
  session_id: 'ps_01M7W4Q010D3F5G7H9J1K2M4N6',
  status: 'open',
  upi_intent: 'upi://pay?pa=asha.textiles@upi&pn=Asha%20Textiles&am=499.50&cu=INR',
  expires_at: '2026-11-20T09:46:00.000Z',
};
const SESSION_RESPONSE = response('Payment session', EXAMPLE_SESSION, '2026-11-20T09:31:00.000Z');
const SESSION_LINK: NextOperation = {
  operationId: 'getPaymentSession',
  parameters: { id: '$request.path.id', session: '$response.body#/data/session_id' },
};

const EXAMPLE_EVENT = exampleEvent('PAYMENT_SUCCESS');
const eventResponse = (message: string) => {
  const { timestamp: at } = EXAMPLE_EVENT;
  const attempt = { at, kind: 'scheduled', url: 'https://shop.example.com/webhooks' };
  const attempts = [{ ...attempt, status_code: 200, duration_ms: 84, error: null }];
  const delivery = { state: 'DELIVERED', next_attempt_at: null, attempts };
  return response(message, { event: EXAMPLE_EVENT, delivery }, '2026-11-20T09:45:00.000Z');
};
const onSameEvent = (operationId: string): NextOperation[] => [
  { operationId, parameters: { id: '$request.path.id' } },
];

const EXAMPLE_LINE = {
  type: 'paid',
  amount: 499.5,
  credit: 499.5,
  debit: 0,
  booked_at: '2026-11-20T09:32:10.000Z',
  happened_at: '2026-11-20T09:32:10.000Z',
  order_number: EXAMPLE_ORDERS.paid.order_number,
  merchant_order_id: null,
  gateway_payment_id: EXAMPLE_ORDERS.paid.payment?.gateway_payment_id,
  gateway_transfer_id: null,
  gateway_refund_id: null,
  gateway_chargeback_id: null,
  utr: EXAMPLE_ORDERS.paid.payment?.utr,
  gateway_payout_id: null,
  payout_utr: null,
};
const EXAMPLE_STATEMENT = {
  content: [EXAMPLE_LINE],
  next: null,
  opening_balance: 1200,
  closing_balance: 1699.5,
  closed: true,
};

const { created, paymentFailed, paid, delivered } = EXAMPLE_ORDERS;
const { disputed, underReview, resolved, refunding, refunded, cancelled } = EXAMPLE_ORDERS;

const ADVANCED_SECONDS = 3600;
const advanced: Order = {
  ...created,
  payment_link_expires_at: new Date(
    Date.parse(created.payment_link_expires_at) - ADVANCED_SECONDS * 1000,
  ).toISOString(),
};

const chargedBack: Order = {
  ...paid,
  payment: paid.payment && { ...paid.payment, reversed_amount: paid.amount },
};

const refundFailed: Order = {
  ...refunded,
  refund: refunded.refund && { ...refunded.refund, processed_at: null },
};

const decided: Order = {
  ...resolved,
  dispute: resolved.dispute && {
    ...resolved.dispute,
    resolution: null,
    decision: {
      for: 'merchant',
      reason: 'Decided by the sandbox test helper',
      decided_at: resolved.updated_at,
    },
  },
};

const refundingByMerchant: Order = {
  ...paid,
  refund: { amount: paid.amount, reason: 'merchant_refund', processed_at: null },
};

/**
 * Examples of every operation, all about the same order, and OpenAPI links to the operations that
 * may follow. Generators of clients and tests use the links to reach the states of an order.
 */
export const OPERATION_NOTES: Readonly<Record<string, OperationNotes>> = {
  createOrder: {
    request: {
      amount: 499.5,
      buyerEmail: created.buyer.email,
      buyerPhone: created.buyer.phone,
      description: created.description,
      buyerName: created.buyer.name,
      merchantOrderId: created.merchant_order_id,
    },
    responses: { 201: orderResponse('Order created', created) },
    next: onNewOrder(
      'getOrder',
      'getOrderTimeline',
      'openPaymentSession',
      'cancelOrder',
      'deliverOrder',
      'refundOrder',
      'submitEvidence',
      'resolveDispute',
      'acceptDispute',
      'testPay',
      'testFailPayment',
      'testDispute',
      'testAdvance',
      'testDecide',
      'testLatePayment',
      'testSecondPayment',
      'testChargeback',
      'testFailRefund',
    ),
  },
  listOrders: {
    responses: {
      200: response(
        'Orders',
        {
          content: [delivered],
          totalElements: 1,
          totalPages: 1,
          number: 0,
          size: 20,
          next: null,
        },
        '2026-11-22T12:00:00.000Z',
      ),
    },
  },
  getOrder: {
    responses: { 200: orderResponse('Order', delivered) },
    next: onSameOrder('getOrderTimeline'),
  },
  getOrderTimeline: {
    responses: { 200: response('Timeline', EXAMPLE_TIMELINE, '2026-11-22T11:05:00.000Z') },
    next: onSameOrder('getOrder'),
  },
  listEvents: {
    responses: {
      200: response(
        'Events',
        { content: [EXAMPLE_EVENT], next: cursorOf([3, EXAMPLE_EVENT.event_id]) },
        '2026-11-20T09:45:00.000Z',
      ),
    },
    next: [
      { operationId: 'getEvent', parameters: { id: '$response.body#/data/content/0/event_id' } },
    ],
  },
  getEvent: { responses: { 200: eventResponse('Event') }, next: onSameEvent('resendEvent') },
  resendEvent: {
    request: {},
    responses: { 202: eventResponse('Event is being sent') },
    next: onSameEvent('getEvent'),
  },
  getStatement: {
    responses: { 200: response('Statement', EXAMPLE_STATEMENT, '2026-11-21T02:00:00.000Z') },
    next: [
      {
        operationId: 'getOrder',
        parameters: { id: '$response.body#/data/content/0/order_number' },
      },
    ],
  },
  openPaymentSession: {
    request: {},
    responses: { 200: SESSION_RESPONSE, 201: SESSION_RESPONSE },
    next: [SESSION_LINK, ...onSameOrder('cancelOrder', 'testPay', 'testFailPayment')],
  },
  getPaymentSession: {
    responses: { 200: SESSION_RESPONSE },
    next: onSameOrder('getOrder'),
  },
  cancelOrder: {
    request: { reason: 'Out of stock' },
    responses: { 200: orderResponse('Order cancelled', cancelled) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  deliverOrder: {
    request: { trackingId: 'DTDC-7734512', note: 'Handed to the buyer' },
    responses: { 200: orderResponse('Order marked as delivered', delivered) },
    next: onSameOrder('getOrder', 'testDispute', 'testAdvance'),
  },
  refundOrder: {
    request: { reason: 'The last one was damaged in our store' },
    responses: { 200: orderResponse('Refund started', refundingByMerchant) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  submitEvidence: {
    request: { text: 'Photographs of the parcel before it was sent' },
    responses: { 200: orderResponse('Evidence submitted', underReview) },
    next: onSameOrder('resolveDispute', 'acceptDispute'),
  },
  resolveDispute: {
    request: { resolution: 'A new kurta has reached the buyer' },
    responses: { 200: orderResponse('Dispute resolved', resolved) },
    next: onSameOrder('getOrder', 'testDispute', 'testAdvance'),
  },
  acceptDispute: {
    request: {},
    responses: { 200: orderResponse('Dispute accepted', refunding) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  testPay: {
    request: {},
    responses: { 200: orderResponse('Order paid', paid) },
    next: onSameOrder('getOrder', 'deliverOrder', 'testDispute', 'testAdvance'),
  },
  testFailPayment: {
    request: {},
    responses: { 200: orderResponse('Payment failed', paymentFailed) },
    next: onSameOrder('openPaymentSession', 'cancelOrder', 'testPay'),
  },
  testDispute: {
    request: { reason: 'The kurta that arrived has a torn sleeve' },
    responses: { 200: orderResponse('Dispute raised', disputed) },
    next: onSameOrder('submitEvidence', 'resolveDispute', 'acceptDispute', 'testAdvance'),
  },
  testAdvance: {
    request: { seconds: ADVANCED_SECONDS },
    responses: { 200: orderResponse('Clock advanced', advanced) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  testLatePayment: {
    request: {},
    responses: { 200: orderResponse('Order paid late', cancelled) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  testSecondPayment: {
    request: {},
    responses: { 200: orderResponse('Order paid a second time', paid) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  testChargeback: {
    request: { outcome: 'lost' },
    responses: { 200: orderResponse('Payment charged back', chargedBack) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  testFailRefund: {
    request: {},
    responses: { 200: orderResponse('Refund failed', refundFailed) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  testFailAfterWork: {
    request: {},
    responses: {
      200: {
        ...response('The next POST answers 500 after its work', {}, '2026-11-20T09:30:00.000Z'),
        data: null,
      },
    },
  },
  testDecide: {
    request: { for: 'merchant' },
    responses: { 200: orderResponse('Dispute decided', decided) },
    next: onSameOrder('getOrder', 'testAdvance'),
  },
};
