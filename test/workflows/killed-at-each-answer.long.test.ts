import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { OrderStatus, StepKind } from '../../src/domain/index.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { createCallbackKit } from '../payments/callback-kit.ts';
import type { ApiClient } from '../support/api-client.ts';
import { anOrder, withKey } from '../support/api-client.ts';
import { startApiProcess } from '../support/api-process.ts';
import { reconcile, sweep } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { ordersOf } from '../support/orders.ts';
import { repeated } from '../support/repeated.ts';
import { startRoundTrips } from '../support/round-trips.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const DAY_SECONDS = 86_400;

const test = serviceTest({
  time: 'real',
  worker: false,
  settings: { SWEEP_AFTER_SECONDS: '0.001' },
});
test.afterEach(async ({ service, worker }) => {
  await worker.stop();
  // While the database's clock is ahead of the workers', an attempt of a webhook waits for the difference: it would add up.
  await service.clock.set(0);
});

interface Asked {
  api: ApiClient;
  origin: string;
}

/** What a merchant or the gateway asks for, the same at each repeat. */
interface Request {
  merchant: Merchant;
  ask: (of: Asked) => Promise<{ status: number; orderNumber: string }>;
  /** What its statements and calls name. */
  names: string[];
}

interface Walk {
  prepare: (service: TestService, merchant: Merchant) => Promise<Omit<Request, 'merchant'>>;
  ends: OrderStatus;
  /** The timeline afterwards. */
  kinds: StepKind[];
  made?: 'transfers' | 'refunds';
}

/** A request with an Idempotency-Key, about an order in this status. */
const asking =
  (status: OrderStatus, action: string, body: object) =>
  async (service: TestService, merchant: Merchant) => {
    const order = await ordersOf(service, merchant).in(status);
    const { orderNumber } = order;
    const key = withKey(randomUUID());
    const path = action.replace('{id}', orderNumber);
    return {
      ask: async ({ api }: Asked) => ({ ...(await api.post(path, body, key)), orderNumber }),
      names: [orderNumber, await order.paymentId(), merchant.merchantId],
    };
  };

/** The deadline of the status passes, because the sandbox's clock is moved. */
const advancing = (status: OrderStatus, seconds: number) =>
  asking(status, '/test-helpers/orders/{id}/advance', { seconds });

/** The five walks of docs/walks.md. */
const WALKS = {
  create: {
    async prepare(_service, merchant) {
      const key = withKey(randomUUID());
      return {
        async ask({ api }) {
          const { status, body } = await api.post('/orders', anOrder(), key);
          return { status, orderNumber: body.data?.order_number ?? '' };
        },
        names: [merchant.merchantId],
      };
    },
    ends: 'ACCEPTED',
    kinds: ['ORDER_CREATED'],
  },
  deliver: {
    prepare: asking('PAID', '/orders/{id}/deliver', { trackingId: 'IN1' }),
    ends: 'DELIVERED',
    kinds: ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED'],
  },
  payment: {
    async prepare(service, merchant) {
      const kit = createCallbackKit(service, merchant);
      const { order, body, paymentId } = await kit.aPaymentNotYetHeardOf();
      return {
        async ask({ origin }) {
          const { status } = await kit.callBack(body, { origin });
          return { status, orderNumber: order.order_number };
        },
        names: [order.order_number, paymentId, merchant.merchantId],
      };
    },
    ends: 'PAID',
    kinds: ['ORDER_CREATED', 'PAYMENT_SUCCESS'],
  },
  release: {
    prepare: advancing('DELIVERED', DAY_SECONDS),
    ends: 'COMPLETED',
    kinds: [
      'ORDER_CREATED',
      'PAYMENT_SUCCESS',
      'DELIVERY_CONFIRMED',
      'CLOCK_ADVANCED',
      'RELEASE_STARTED',
      'ORDER_COMPLETED',
    ],
    made: 'transfers',
  },
  'a dispute that expires': {
    prepare: advancing('DISPUTE_OPEN', 3 * DAY_SECONDS),
    ends: 'REFUNDED',
    kinds: [
      'ORDER_CREATED',
      'PAYMENT_SUCCESS',
      'DELIVERY_CONFIRMED',
      'DISPUTE_RAISED',
      'CLOCK_ADVANCED',
      'REFUND_STARTED',
      'REFUND_PROCESSED',
    ],
    made: 'refunds',
  },
} as const satisfies Record<string, Walk>;

// `least` and `places`: about how many answers of PostgreSQL and the gateway the walk has.
test.for<[keyof typeof WALKS, { least: number; places: number }]>([
  ['create', { least: 3, places: 12 }],
  ['deliver', { least: 5, places: 12 }],
  ['payment', { least: 5, places: 14 }],
  ['release', { least: 15, places: 44 }],
  ['a dispute that expires', { least: 15, places: 44 }],
])(
  'API and worker are killed at each answer that they do not know yet, and all is done once: %s',
  async ([name, { least, places }], { service, worker }) => {
    const walk: Walk = WALKS[name];
    await worker.start();
    const requests: Request[] = [];
    while (requests.length < places) {
      const merchant = await service.newMerchant();
      requests.push({ merchant, ...(await walk.prepare(service, merchant)) });
    }
    await worker.stop();
    const killed: Request[] = [];
    for (const request of requests) {
      killed.push(request);
      if ((await askUntilKilled(service, request, walk, killed.length)) === 'ended') break;
    }
    expect(killed.length).toBeGreaterThan(least);
    expect(killed.length).toBeLessThan(places);

    await endLeases(service);
    await worker.start();
    const ends = await Promise.all(
      killed.map(async ({ merchant, ask }) => {
        const of = { api: merchant.sandbox, origin: service.origin };
        const { status, orderNumber } = await repeated(() => ask(of));
        expect([200, 201]).toContain(status);
        return { merchant, orderNumber };
      }),
    );
    await until(async () => {
      await reconcile(service);
      await sweep(service);
      const ended = ends.map(({ orderNumber }) => hasEnded(service, orderNumber, walk));
      return (await Promise.all(ended)).every(Boolean);
    });
    for (const { merchant, orderNumber } of ends) {
      const order = await ordersOf(service, merchant).workflowOf({ order_number: orderNumber });
      expect(await order.kinds()).toEqual(walk.kinds);
      if (walk.made) expect(await order.made(walk.made)).toHaveLength(1);
    }
    expect((await verifyLedger(service.sql)).faults).toEqual([]);
  },
);

/** @returns `ended` if the walk has no such place */
async function askUntilKilled(
  service: TestService,
  { merchant, ask, names }: Request,
  walk: Walk,
  place: number,
): Promise<'killed' | 'ended'> {
  const trips = await startRoundTrips({
    databaseUrl: service.env.DATABASE_URL,
    gatewayUrl: service.env.SANDBOX_RAZORPAY_BASE_URL,
  });
  const { settings } = trips;
  const [api, worker] = await Promise.all([
    startApiProcess(service, settings),
    startWorkerProcess(service, { settings }),
  ]);
  const held = trips.untilAnswer(place, names).then(() => 'killed' as const);
  const of = { api: api.as(merchant.keys), origin: api.origin };
  // On a busy machine the API gives up waiting for its worker: the request is repeated, until the API is killed.
  const asked = repeated(() => ask(of)).catch(() => undefined);
  const outcome = await Promise.race([
    held,
    asked.then(async (answer) => {
      if (!answer) return held;
      await until(() => hasEnded(service, answer.orderNumber, walk));
      return 'ended' as const;
    }),
  ]);
  await Promise.all([api.kill(), worker.kill()]);
  await Promise.all([api.stop(), trips.stop()]);
  return outcome;
}

/** Acts as if the leases of the killed processes had expired. */
async function endLeases({ sql, clock }: TestService): Promise<void> {
  await clock.advance(60_000);
  await sql`UPDATE payments SET money_lease_ends_at = clock_timestamp()`;
}

/** The order has its status, and each of its webhooks has arrived. */
async function hasEnded({ sql }: TestService, orderNumber: string, { ends }: Walk) {
  const [row] = await sql<{ status: string; waiting: number }[]>`
    SELECT status, (SELECT count(*)::integer FROM order_events e JOIN webhook_deliveries d USING (event_id)
      WHERE e.order_number = o.order_number AND d.state <> 'DELIVERED') AS waiting
    FROM orders o WHERE order_number = ${orderNumber}`;
  return row?.status === ends && row.waiting === 0;
}
