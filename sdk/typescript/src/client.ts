import { PayordersError } from './errors.ts';
import { toPaise } from './money.ts';
import type { CallOptions, ClientOptions, Send } from './transport.ts';
import { createTransport } from './transport.ts';
import type {
  CreatedOrder,
  CreateOrder,
  EventDetails,
  EventFilter,
  Order,
  OrderFilter,
  Page,
  PaymentSession,
  Statement,
  StatementLine,
  StatementQuery,
  Timeline,
  WebhookEvent,
} from './types.ts';

/** A client of one merchant in one environment. */
export type Payorders = ReturnType<typeof createClient>;

const pathOf = (orderNumber: string, rest = '') =>
  `/orders/${encodeURIComponent(orderNumber)}${rest}`;

/** Every item of a list, one request after the other. `page` reads one page. */
export interface List<Item> extends AsyncIterable<Item> {
  /** The page after the cursor of the filter. */
  page(): Promise<Page<Item>>;
}

/**
 * The cursor of the page after this one. Undefined at the end of a list. A page of a filtered list can be empty
 * before the end. At the end, the cursor stays the same.
 *
 * @param after the cursor with which the page was read
 */
export const cursorBehind = ({ next }: Page<unknown>, after?: string): string | undefined =>
  next === null || next === after ? undefined : next;

function listOf<Item, Filter extends { readonly after?: string }>(
  read: (filter: Filter) => Promise<Page<Item>>,
  filter: Filter,
): List<Item> {
  return {
    page: () => read(filter),
    async *[Symbol.asyncIterator]() {
      let { after } = filter;
      for (;;) {
        const page = await read(after === undefined ? filter : { ...filter, after });
        yield* page.content;
        after = cursorBehind(page, after);
        if (after === undefined) return;
      }
    },
  };
}

const post =
  (send: Send) =>
  <Data = Order>(path: string, body: object | undefined, { idempotencyKey }: CallOptions = {}) =>
    send<Data>({ method: 'POST', path, ...(body && { body }), idempotencyKey });

function ordersOf(send: Send) {
  const command = post(send);
  return {
    /**
     * Creates an order. With the key of an earlier call, it returns that call's order as it is now, and `replayed`
     * is true. If that order is CANCELLED or REFUNDED, it takes no payment, so create another one with a new key.
     */
    async create(order: CreateOrder, options: CallOptions = {}): Promise<CreatedOrder> {
      const body = { ...order, amount: toPaise(order.amount) / 100 };
      return send({ method: 'POST', path: '/orders', body, showsReplay: true, ...options });
    },
    get: (orderNumber: string) => send<Order>({ method: 'GET', path: pathOf(orderNumber) }),
    /** Lists orders, newest first. Orders that are created in the meantime do not move the pages. */
    list: (filter: OrderFilter = {}): List<Order> =>
      listOf(
        (query) => send<Page<Order>>({ method: 'GET', path: '/orders', query: { ...query } }),
        filter,
      ),
    /** The latest entries. To read earlier ones, give the `earlier` of a timeline as `before`. */
    timeline: (orderNumber: string, { before }: { before?: string } = {}) =>
      send<Timeline>({
        method: 'GET',
        path: pathOf(orderNumber, '/timeline'),
        query: { before },
      }),
    deliver: (
      orderNumber: string,
      body: { trackingId?: string; note?: string } = {},
      options?: CallOptions,
    ) => command(pathOf(orderNumber, '/deliver'), body, options),
    cancel: (orderNumber: string, body: { reason?: string } = {}, options?: CallOptions) =>
      command(pathOf(orderNumber, '/cancel'), body, options),
    /** Refunds the whole amount of a PAID or DELIVERED order. */
    refund: (orderNumber: string, body: { reason: string }, options?: CallOptions) =>
      command(pathOf(orderNumber, '/refund'), body, options),
    openPaymentSession: (orderNumber: string, options?: CallOptions) =>
      command<PaymentSession>(pathOf(orderNumber, '/payment-sessions'), undefined, options),
    getPaymentSession: (orderNumber: string, sessionId: string) =>
      send<PaymentSession>({
        method: 'GET',
        path: pathOf(orderNumber, `/payment-sessions/${encodeURIComponent(sessionId)}`),
      }),
  };
}

function disputesOf(send: Send) {
  const command = post(send);
  return {
    submitEvidence: (orderNumber: string, body: { text: string }, options?: CallOptions) =>
      command(pathOf(orderNumber, '/dispute/evidence'), body, options),
    resolve: (orderNumber: string, body: { resolution: string }, options?: CallOptions) =>
      command(pathOf(orderNumber, '/dispute/resolve'), body, options),
    /** Accepts the dispute: the buyer is refunded. */
    accept: (orderNumber: string, options?: CallOptions) =>
      command(pathOf(orderNumber, '/dispute/accept'), {}, options),
  };
}

function eventsOf(send: Send) {
  return {
    /** Lists events, oldest first. Keep the `next` of the last page: no event is ever inserted before it. */
    list: (filter: EventFilter = {}): List<WebhookEvent> =>
      listOf(
        (query) =>
          send<Page<WebhookEvent>>({ method: 'GET', path: '/events', query: { ...query } }),
        filter,
      ),
    /** Reads one event, with the state of its delivery and its attempts. */
    get: (eventId: string) =>
      send<EventDetails>({ method: 'GET', path: `/events/${encodeURIComponent(eventId)}` }),
    /** Sends the webhook again. */
    resend: (eventId: string, options?: CallOptions) =>
      post(send)<unknown>(`/events/${encodeURIComponent(eventId)}/resend`, undefined, options),
  };
}

function statementsOf(send: Send) {
  const get = (date: string, page: StatementQuery = {}) =>
    send<Statement>({
      method: 'GET',
      path: `/statements/${encodeURIComponent(date)}`,
      query: { ...page },
    });
  return {
    /** A day in India, such as '2026-11-20': a page of its lines, and its balances. */
    get,
    /** Every line of a day. Read it when the day is `closed`. */
    lines: (date: string): List<StatementLine> =>
      listOf((page: StatementQuery) => get(date, page), { size: 100 }),
  };
}

/** Acts as the buyer, the bank and an operator, and moves an order's clock. */
function sandboxOf(send: Send) {
  const command = post(send);
  const help = (orderNumber: string, helper: string, body?: object) =>
    command(`/test-helpers${pathOf(orderNumber, `/${helper}`)}`, body);
  return {
    pay: (orderNumber: string) => help(orderNumber, 'pay'),
    failPayment: (orderNumber: string) => help(orderNumber, 'fail-payment'),
    dispute: (orderNumber: string, body: { reason: string }) => help(orderNumber, 'dispute', body),
    /** Moves the order's clock, and its webhook retries with it: 1 second to 30 days. */
    advance: (orderNumber: string, body: { seconds: number }) => help(orderNumber, 'advance', body),
    decide: (orderNumber: string, body: { for: 'merchant' | 'buyer' }) =>
      help(orderNumber, 'decide', body),
    chargeback: (orderNumber: string, body: { outcome: 'open' | 'won' | 'lost' }) =>
      help(orderNumber, 'chargeback', body),
    latePayment: (orderNumber: string) => help(orderNumber, 'late-payment'),
    secondPayment: (orderNumber: string) => help(orderNumber, 'second-payment'),
    /** Makes the refund of a REFUNDED order fail at the bank. The service then refunds again. */
    failRefund: (orderNumber: string) => help(orderNumber, 'fail-refund'),
    /** Makes the next POST answer 500 after it has taken effect, once. This client then retries it. */
    failAfterWork: () => command<unknown>('/test-helpers/fail-after-work', undefined),
  };
}

/**
 * Makes a client.
 *
 * @throws PayordersError `WRONG_ENVIRONMENT` for keys of the other environment
 */
export function createClient(options: ClientOptions) {
  const send = createTransport(options);
  const { environment } = options;
  return {
    orders: ordersOf(send),
    disputes: disputesOf(send),
    events: eventsOf(send),
    statements: statementsOf(send),
    /** @throws PayordersError `WRONG_ENVIRONMENT` in production */
    get sandbox() {
      if (environment === 'sandbox') return sandboxOf(send);
      const message = 'The test helpers exist in the sandbox only';
      throw new PayordersError(message, { status: 0, code: 'WRONG_ENVIRONMENT' });
    },
  };
}
