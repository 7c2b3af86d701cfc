import { randomUUID } from 'node:crypto';
import type { Environment, OrderStatus } from '../../src/domain/index.ts';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { Timeline } from '../../src/orders/steps/timeline-presenter.ts';
import { repeated } from './repeated.ts';
import { until } from './until.ts';

export interface ApiAnswer<Data = Order> {
  status: number;
  headers: Headers;
  body: {
    success: boolean;
    message: string;
    data: Data;
    timestamp: string;
    validationErrors?: Record<string, string>;
  };
}

export interface PaymentSession {
  session_id: string;
  status: 'open' | 'paid' | 'closed';
  upi_intent: string;
  expires_at: string;
}

/** Identifies an order: one from the API, a row, or a workflow's. */
export interface OrderRef {
  order_number: string;
}

/** The header of a request that has this key. */
export const withKey = (key: string) => ({ 'Idempotency-Key': key });

/** A valid order, with overrides. */
export function anOrder(overrides: Record<string, unknown> = {}) {
  return {
    amount: 499.5,
    buyerEmail: 'asha@example.com',
    buyerPhone: '+919876543210',
    description: 'Blue kurta, size M',
    ...overrides,
  };
}

/** A merchant's backend that calls the API over real HTTP. */
export function createApiClient(origin: string, keys: KeyPair, environment: Environment) {
  async function call<Data = Order>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiAnswer<Data>> {
    const response = await fetch(`${origin}${BASE_PATHS[environment]}${path}`, {
      method,
      headers: {
        'X-API-Key': keys.apiKey,
        'X-API-Secret': keys.apiSecret,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: JSON.parse(text) };
  }
  const command = <Data = Order>(
    { order_number }: OrderRef,
    name: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => call<Data>('POST', `/orders/${order_number}/${name}`, body, headers);
  const read = async ({ order_number }: OrderRef) =>
    (await call('GET', `/orders/${order_number}`)).body.data;
  return {
    call,
    read,
    untilStatus: (order: OrderRef, status: OrderStatus) =>
      until(async () => (await read(order)).status === status),
    timeline: async ({ order_number }: OrderRef) =>
      (await call<Timeline>('GET', `/orders/${order_number}/timeline`)).body.data,
    get: <Data = Order>(path: string) => call<Data>('GET', path),
    post: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('POST', path, body, headers),
    /** One of an order's commands, by the end of its path: `dispute/accept`. */
    command,
    /** Opens a payment session, or answers the one that is open. */
    openSession: (order: OrderRef, headers?: Record<string, string>) =>
      command<PaymentSession>(order, 'payment-sessions', undefined, headers),
    session: ({ order_number }: OrderRef, sessionId: string) =>
      call<PaymentSession>('GET', `/orders/${order_number}/payment-sessions/${sessionId}`),
    /** Creates an order and returns it. A busy machine may refuse it at first. */
    async create(overrides: Record<string, unknown> = {}, headers?: Record<string, string>) {
      const sent = { ...withKey(randomUUID()), ...headers };
      const order = anOrder(overrides);
      return (await repeated(() => call('POST', '/orders', order, sent))).body.data;
    },
    /** Cancels an order. On a busy machine its session may not be closed in time at first. */
    cancel(order: OrderRef) {
      const key = withKey(randomUUID());
      return repeated(() => command(order, 'cancel', undefined, key));
    },
    /** Calls a sandbox test helper that acts as the buyer. */
    help: (order: OrderRef, helper: string, body?: unknown) =>
      call('POST', `/test-helpers/orders/${order.order_number}/${helper}`, body),
  };
}
export type ApiClient = ReturnType<typeof createApiClient>;
