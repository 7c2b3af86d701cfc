import type { NextOperation, OperationNotes } from './openapi/openapi-responses.ts';
import { cursorOf } from '../http/input/cursor.ts';
import { EXAMPLE_ORDERS, EXAMPLE_TIMELINE, exampleEvent } from '../orders/public.ts';
import type { Order } from '../orders/public.ts';

/** A response in the standard envelope. */
const response = (message: string, data: object | null, timestamp: string) => ({
  success: true,
  message,
  data,
  timestamp,
});
const orderResponse = (message: string, order: Order) => response(message, order, order.updated_at);

/** Links to operations on the object with this id: an OpenAPI runtime expression. */
const linksTo = (id: string, ...operationIds: string[]): NextOperation[] =>
  operationIds.map((operationId) => ({ operationId, parameters: { id } }));

/** Links to operations on the order or event of the request. */
const onSame = (...operationIds: string[]) => linksTo('$request.path.id', ...operationIds);

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

/** The notes of a command whose answer is the order. */
const onCommand = (message: string, order: Order, request: object = {}): OperationNotes => ({
  request,
  responses: { 200: orderResponse(message, order) },
  next: onSame('getOrder', 'getOrderTimeline'),
});

/** The commands on an order: those of the merchant, then the sandbox's helpers. */
const COMMAND_NOTES: Readonly<Record<string, OperationNotes>> = {
  cancelOrder: onCommand('Order cancelled', cancelled, { reason: 'Out of stock' }),
  deliverOrder: {
    ...onCommand('Order marked as delivered', delivered, {
      trackingId: 'DTDC-7734512',
      note: 'Handed to the buyer',
    }),
    next: onSame('getOrder', 'testDispute', 'testAdvance'),
  },
  refundOrder: onCommand('Refund started', refundingByMerchant, {
    reason: 'The last one was damaged in our store',
  }),
  submitEvidence: {
    ...onCommand('Evidence submitted', underReview, {
      text: 'Photographs of the parcel before it was sent',
    }),
    next: onSame('resolveDispute', 'acceptDispute'),
  },
  resolveDispute: {
    ...onCommand('Dispute resolved', resolved, { resolution: 'A new kurta has reached the buyer' }),
    next: onSame('getOrder', 'testDispute', 'testAdvance'),
  },
  acceptDispute: onCommand('Dispute accepted', refunding),
  testPay: {
    ...onCommand('Order paid', paid),
    next: onSame('getOrder', 'deliverOrder', 'testDispute', 'testAdvance'),
  },
  testFailPayment: {
    ...onCommand('Payment failed', paymentFailed),
    next: onSame('openPaymentSession', 'cancelOrder', 'testPay'),
  },
  testDispute: {
    ...onCommand('Dispute raised', disputed, {
      reason: 'The kurta that arrived has a torn sleeve',
    }),
    next: onSame('submitEvidence', 'resolveDispute', 'acceptDispute', 'testAdvance'),
  },
  testAdvance: onCommand('Clock advanced', advanced, { seconds: ADVANCED_SECONDS }),
  testDecide: {
    ...onCommand('Dispute decided', decided, { for: 'merchant' }),
    next: onSame('getOrder', 'testAdvance'),
  },
  testLatePayment: onCommand('Order paid late', cancelled),
  testSecondPayment: onCommand('Order paid a second time', paid),
  testChargeback: onCommand('Payment charged back', chargedBack, { outcome: 'lost' }),
  testFailRefund: onCommand('Refund failed', refundFailed),
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
    next: linksTo(
      '$response.body#/data/order_number',
      'getOrder',
      'getOrderTimeline',
      'openPaymentSession',
      ...Object.keys(COMMAND_NOTES),
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
    next: onSame('getOrderTimeline'),
  },
  getOrderTimeline: {
    responses: { 200: response('Timeline', EXAMPLE_TIMELINE, '2026-11-22T11:05:00.000Z') },
    next: onSame('getOrder'),
  },
  listEvents: {
    responses: {
      200: response(
        'Events',
        { content: [EXAMPLE_EVENT], next: cursorOf([3, EXAMPLE_EVENT.event_id]) },
        '2026-11-20T09:45:00.000Z',
      ),
    },
    next: linksTo('$response.body#/data/content/0/event_id', 'getEvent'),
  },
  getEvent: { responses: { 200: eventResponse('Event') }, next: onSame('resendEvent') },
  resendEvent: {
    request: {},
    responses: { 202: eventResponse('Event is being sent') },
    next: onSame('getEvent'),
  },
  getStatement: {
    responses: { 200: response('Statement', EXAMPLE_STATEMENT, '2026-11-21T02:00:00.000Z') },
    next: linksTo('$response.body#/data/content/0/order_number', 'getOrder'),
  },
  openPaymentSession: {
    request: {},
    responses: { 200: SESSION_RESPONSE, 201: SESSION_RESPONSE },
    next: [SESSION_LINK, ...onSame('cancelOrder', 'testPay', 'testFailPayment')],
  },
  getPaymentSession: {
    responses: { 200: SESSION_RESPONSE },
    next: onSame('getOrder'),
  },
  ...COMMAND_NOTES,
  testFailAfterWork: {
    request: {},
    responses: {
      200: response('The next POST answers 500 after its work', null, '2026-11-20T09:30:00.000Z'),
    },
  },
};
