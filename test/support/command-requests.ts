import { randomUUID } from 'node:crypto';
import type { CommandType, OrderStatus } from '../../src/domain/index.ts';
import type { ApiClient, OrderRef } from './api-client.ts';
import { withKey } from './api-client.ts';
import { repeated } from './repeated.ts';

/** Commands that come from the gateway, from a deadline, or from an operator. */
type CommandOfOthers =
  | 'expire'
  | 'extend'
  | 'settleReleased'
  | 'settleRefunded'
  | 'sessionClosed'
  | 'closeFailed'
  | 'released'
  | 'refunded';
/** A command that has an operation of the API: of the merchant, or of the sandbox for the buyer. */
export type ClientCommand = Exclude<CommandType, CommandOfOthers>;

/** A POST operation: `{id}` in its path is the order number. */
interface PostOperation {
  path: string;
  body?: Record<string, string | number>;
}

/** A request of each command that a client can give. */
export const COMMAND_REQUESTS: Record<ClientCommand, PostOperation> = {
  deliver: { path: '/orders/{id}/deliver', body: { trackingId: 'IN1' } },
  cancel: { path: '/orders/{id}/cancel', body: { reason: 'Sold out' } },
  refund: { path: '/orders/{id}/refund', body: { reason: 'Broken in the store' } },
  submitEvidence: {
    path: '/orders/{id}/dispute/evidence',
    body: { text: 'Signed for by the buyer' },
  },
  resolve: {
    path: '/orders/{id}/dispute/resolve',
    body: { resolution: 'A new one is on its way' },
  },
  accept: { path: '/orders/{id}/dispute/accept' },
  pay: { path: '/test-helpers/orders/{id}/pay' },
  failPayment: { path: '/test-helpers/orders/{id}/fail-payment' },
  dispute: {
    path: '/test-helpers/orders/{id}/dispute',
    body: { reason: 'It never arrived at my door' },
  },
  decideForMerchant: { path: '/test-helpers/orders/{id}/decide', body: { for: 'merchant' } },
  decideForBuyer: { path: '/test-helpers/orders/{id}/decide', body: { for: 'buyer' } },
  advance: { path: '/test-helpers/orders/{id}/advance', body: { seconds: 60 } },
};
export const CLIENT_COMMANDS = Object.keys(COMMAND_REQUESTS) as ClientCommand[];

/** Every POST operation on orders, those of commands first. */
export const ORDER_POSTS: readonly PostOperation[] = [
  ...Object.values(COMMAND_REQUESTS),
  {
    path: '/orders',
    body: {
      amount: 499.5,
      buyerEmail: 'a@example.com',
      buyerPhone: '+919876543210',
      description: 'x',
    },
  },
  { path: '/orders/{id}/payment-sessions' },
  { path: '/test-helpers/orders/{id}/late-payment' },
  { path: '/test-helpers/orders/{id}/second-payment' },
  { path: '/test-helpers/orders/{id}/chargeback', body: { outcome: 'won' } },
  { path: '/test-helpers/orders/{id}/fail-refund' },
];

/** Gives an order a command over HTTP; with `body`, another one than that of {@link COMMAND_REQUESTS}. */
export function ask(
  api: ApiClient,
  command: ClientCommand,
  { order_number }: OrderRef,
  {
    headers,
    body = COMMAND_REQUESTS[command].body,
  }: {
    headers?: Record<string, string>;
    body?: object | undefined;
  } = {},
) {
  return api.post(COMMAND_REQUESTS[command].path.replace('{id}', order_number), body, headers);
}

/** The commands that bring a new order to each status; COMPLETED also needs time to pass. */
const WAYS: Record<OrderStatus, ClientCommand[]> = {
  ACCEPTED: [],
  PAID: ['pay'],
  DELIVERED: ['pay', 'deliver'],
  DISPUTE_OPEN: ['pay', 'deliver', 'dispute'],
  DISPUTE_UNDER_REVIEW: ['pay', 'deliver', 'dispute', 'submitEvidence'],
  COMPLETED: ['pay', 'deliver'],
  REFUNDED: ['pay', 'deliver', 'dispute', 'accept'],
  CANCELLED: ['cancel'],
};

/**
 * An order that clients have brought to a status.
 *
 * @throws Error if a command is refused
 */
export async function orderOverHttp(api: ApiClient, status: OrderStatus) {
  const order = await api.create();
  for (const command of WAYS[status]) {
    // A webhook's hand-over may come as the command would end the workflow: then the answer is 500.
    const headers = withKey(randomUUID());
    const answer = await repeated(() => ask(api, command, order, { headers }));
    if (answer.status !== 200) throw new Error(`${command}: ${answer.body.message}`);
  }
  return order;
}
