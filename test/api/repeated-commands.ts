import type { OrderStatus } from '../../src/domain/index.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { ApiClient } from '../support/api-client.ts';
import { expectSuccess } from './expectations.ts';

/** The header of a request that has this key. */
export const withKey = (key: string) => ({ 'Idempotency-Key': key });

/** An operation that a client repeats: the status in which it fits, and its timeline entry. */
export interface Operation {
  path: string;
  body?: Record<string, unknown>;
  fits: OrderStatus;
  step: string;
  /** Other commands, after which this one is refused. */
  afterwards?: string[];
}

/** The commands of the API, by name. */
export const OPERATIONS: Record<string, Operation> = {
  deliver: {
    path: '/orders/{id}/deliver',
    body: { trackingId: 'IN1' },
    fits: 'PAID',
    step: 'DELIVERY_CONFIRMED',
    afterwards: ['dispute', 'accept'],
  },
  cancel: { path: '/orders/{id}/cancel', fits: 'ACCEPTED', step: 'ORDER_CANCELLED' },
  evidence: {
    path: '/orders/{id}/dispute/evidence',
    body: { text: 'Signed for by the buyer' },
    fits: 'DISPUTE_OPEN',
    step: 'EVIDENCE_SUBMITTED',
    afterwards: ['resolve'],
  },
  resolve: {
    path: '/orders/{id}/dispute/resolve',
    body: { resolution: 'A new one is on its way' },
    fits: 'DISPUTE_OPEN',
    step: 'DISPUTE_RESOLVED',
  },
  accept: { path: '/orders/{id}/dispute/accept', fits: 'DISPUTE_OPEN', step: 'REFUND_STARTED' },
  refund: {
    path: '/orders/{id}/refund',
    body: { reason: 'Sold out' },
    fits: 'PAID',
    step: 'REFUND_STARTED',
  },
  pay: {
    path: '/test-helpers/orders/{id}/pay',
    fits: 'ACCEPTED',
    step: 'PAYMENT_SUCCESS',
    afterwards: ['deliver'],
  },
  'fail-payment': {
    path: '/test-helpers/orders/{id}/fail-payment',
    fits: 'ACCEPTED',
    step: 'PAYMENT_FAILED',
    afterwards: ['cancel'],
  },
  dispute: {
    path: '/test-helpers/orders/{id}/dispute',
    body: { reason: 'It never arrived at my door' },
    fits: 'DELIVERED',
    step: 'DISPUTE_RAISED',
    afterwards: ['accept'],
  },
  decide: {
    path: '/test-helpers/orders/{id}/decide',
    body: { for: 'merchant' },
    fits: 'DISPUTE_OPEN',
    step: 'DISPUTE_RESOLVED',
  },
  advance: {
    path: '/test-helpers/orders/{id}/advance',
    body: { seconds: 60 },
    fits: 'ACCEPTED',
    step: 'CLOCK_ADVANCED',
    afterwards: ['cancel'],
  },
};

const WAYS: Partial<Record<OrderStatus, string[]>> = {
  PAID: ['pay'],
  DELIVERED: ['pay', 'deliver'],
  DISPUTE_OPEN: ['pay', 'deliver', 'dispute'],
};

/** Sends a command. */
export function ask(
  client: ApiClient,
  name: string,
  order: Order,
  headers: Record<string, string> = {},
) {
  const { path, body } = OPERATIONS[name] as Operation;
  return client.post(path.replace('{id}', order.order_number), body, headers);
}

/** An order of the API that has been brought to a status. */
export async function orderIn(api: ApiClient, status: OrderStatus): Promise<Order> {
  const order = await api.create();
  for (const name of WAYS[status] ?? []) expectSuccess(await ask(api, name, order), 200);
  return order;
}

/** What a response says of its key. */
export const replayOf = ({ headers }: { headers: Headers }) => ({
  replayed: headers.get('Idempotent-Replayed'),
  mismatch: headers.get('Idempotency-Key-Mismatch'),
});

/** Opens a payment session. */
export const openSessionOf = (client: ApiClient, order: Order, key: string) =>
  client.call<{ session_id: string; status: string }>(
    'POST',
    `/orders/${order.order_number}/payment-sessions`,
    undefined,
    withKey(key),
  );
