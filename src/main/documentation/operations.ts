import type { NextOperation, OperationNotes } from '../../http/openapi-responses.ts';
import { EXAMPLE_ORDERS, EXAMPLE_TIMELINE } from '../../orders/examples.ts';
import type { Order } from '../../orders/schemas.ts';

/** A standard answer, at a moment. */
const answer = (message: string, data: object, timestamp: string) => ({
  success: true,
  message,
  data,
  timestamp,
});
const orderAnswer = (message: string, order: Order) => answer(message, order, order.updated_at);

/** Operations on the order that the answer shows. */
const onNewOrder = (...operationIds: string[]): NextOperation[] =>
  operationIds.map((operationId) => ({
    operationId,
    parameters: { id: '$response.body#/data/order_number' },
  }));

/** Operations on the order that the request named. */
const onSameOrder = (...operationIds: string[]): NextOperation[] =>
  operationIds.map((operationId) => ({ operationId, parameters: { id: '$request.path.id' } }));

const EXAMPLE_SESSION = {
  session_id: 'ps_01M7W4Q010D3F5G7H9J1K2M4N6',
  status: 'open',
  upi_intent: 'upi://pay?pa=asha.textiles@upi&pn=Asha%20Textiles&am=499.50&cu=INR',
  expires_at: '2026-11-20T09:46:00.000Z',
};
const SESSION_ANSWER = answer('Payment session', EXAMPLE_SESSION, '2026-11-20T09:31:00.000Z');
const SESSION_LINK: NextOperation = {
  operationId: 'getPaymentSession',
  parameters: { id: '$request.path.id', session: '$response.body#/data/session_id' },
};

const { created, paymentFailed, paid, delivered } = EXAMPLE_ORDERS;
const { disputed, underReview, resolved, refunding, cancelled } = EXAMPLE_ORDERS;

const ADVANCED_SECONDS = 3600;
const advanced: Order = {
  ...created,
  payment_link_expires_at: new Date(
    Date.parse(created.payment_link_expires_at) - ADVANCED_SECONDS * 1000,
  ).toISOString(),
};

const refundingByMerchant: Order = {
  ...paid,
  refund: { amount: paid.amount, reason: 'merchant_refund', processed_at: null },
};

/**
 * Examples of every operation, which all tell of one order, and what may come next: OpenAPI's links,
 * by which generators of clients and of tests find their way through the states.
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
    responses: { 201: orderAnswer('Order created', created) },
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
    ),
  },
  listOrders: {
    responses: {
      200: answer(
        'Orders',
        { content: [delivered], totalElements: 1, totalPages: 1, number: 0, size: 20 },
        '2026-11-22T12:00:00.000Z',
      ),
    },
  },
  getOrder: {
    responses: { 200: orderAnswer('Order', delivered) },
    next: onSameOrder('getOrderTimeline'),
  },
  getOrderTimeline: {
    responses: { 200: answer('Timeline', EXAMPLE_TIMELINE, '2026-11-22T11:05:00.000Z') },
    next: onSameOrder('getOrder'),
  },
  openPaymentSession: {
    request: {},
    responses: { 200: SESSION_ANSWER, 201: SESSION_ANSWER },
    next: [SESSION_LINK, ...onSameOrder('cancelOrder', 'testPay', 'testFailPayment')],
  },
  getPaymentSession: {
    responses: { 200: SESSION_ANSWER },
    next: onSameOrder('getOrder'),
  },
  cancelOrder: {
    request: { reason: 'Out of stock' },
    responses: { 200: orderAnswer('Order cancelled', cancelled) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  deliverOrder: {
    request: { trackingId: 'DTDC-7734512', note: 'Handed to the buyer' },
    responses: { 200: orderAnswer('Order marked as delivered', delivered) },
    next: onSameOrder('getOrder', 'testDispute', 'testAdvance'),
  },
  refundOrder: {
    request: { reason: 'The last one was damaged in our store' },
    responses: { 200: orderAnswer('Refund started', refundingByMerchant) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  submitEvidence: {
    request: { text: 'Photographs of the parcel before it was sent' },
    responses: { 200: orderAnswer('Evidence submitted', underReview) },
    next: onSameOrder('resolveDispute', 'acceptDispute'),
  },
  resolveDispute: {
    request: { resolution: 'A new kurta has reached the buyer' },
    responses: { 200: orderAnswer('Dispute resolved', resolved) },
    next: onSameOrder('getOrder', 'testDispute', 'testAdvance'),
  },
  acceptDispute: {
    request: {},
    responses: { 200: orderAnswer('Dispute accepted', refunding) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
  testPay: {
    request: {},
    responses: { 200: orderAnswer('Order paid', paid) },
    next: onSameOrder('getOrder', 'deliverOrder', 'testDispute', 'testAdvance'),
  },
  testFailPayment: {
    request: {},
    responses: { 200: orderAnswer('Payment failed', paymentFailed) },
    next: onSameOrder('openPaymentSession', 'cancelOrder', 'testPay'),
  },
  testDispute: {
    request: { reason: 'The kurta that arrived has a torn sleeve' },
    responses: { 200: orderAnswer('Dispute raised', disputed) },
    next: onSameOrder('submitEvidence', 'resolveDispute', 'acceptDispute', 'testAdvance'),
  },
  testAdvance: {
    request: { seconds: ADVANCED_SECONDS },
    responses: { 200: orderAnswer('Clock advanced', advanced) },
    next: onSameOrder('getOrder', 'getOrderTimeline'),
  },
};
