import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { reconcilePayments } from '../../src/payments/reconcile.ts';
import {
  askGateway,
  breakGateway,
  madeAtGateway,
  payAtGateway,
  sessionOf,
  simulator,
  withCallbacks,
  withoutCallbacks,
} from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const OPENING = '/v1/payments/qr_codes';

interface Named {
  order_number: string;
}
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
});
beforeEach(async () => {
  await simulator(service, 'DELETE', '/faults');
  await withCallbacks(service);
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const read = async ({ order_number }: Named) =>
  (await merchant.sandbox.get(`/orders/${order_number}`)).body.data;
const untilStatus = (order: Named, status: string) =>
  until(async () => (await read(order)).status === status);
const open = ({ order_number }: Named) =>
  merchant.sandbox.post(`/orders/${order_number}/payment-sessions`);
const cancel = ({ order_number }: Named) => merchant.sandbox.post(`/orders/${order_number}/cancel`);
const advance = (order: Named, seconds: number) =>
  merchant.sandbox.help(order, 'advance', { seconds });
const qrCode = (id: string) =>
  askGateway<{ status: string }>(service, 'GET', `/v1/payments/qr_codes/${id}`);

/** The newest session of an order, in our book, at the gateway and as the merchant sees it. */
async function newestSession(order: Named) {
  const { session_id, gateway_session_id: gatewayId } = await sessionOf(service, order);
  const path = `/orders/${order.order_number}/payment-sessions/${session_id}`;
  return {
    gatewayId,
    pay: (attempt = {}) => payAtGateway(service, gatewayId, attempt),
    atGateway: async () => (await qrCode(gatewayId)).status,
    async look() {
      const { status, body } = await merchant.sandbox.get<{ status: string }>(path);
      return [status, body.data?.status];
    },
  };
}

async function anOrderBeingPaid() {
  const order = await merchant.sandbox.create();
  await open(order);
  return { order, session: await newestSession(order) };
}

let minutes = 0;
async function reconcileAfter(more: number): Promise<void> {
  minutes += more;
  await service.clock.set(minutes * MINUTE_MS);
  await reconcilePayments(service.deps);
}

describe('reconciliation asks the gateway', () => {
  test('about a PAID session too: a second payment whose callback is lost goes back', async () => {
    const { order, session } = await anOrderBeingPaid();
    await session.pay();
    await untilStatus(order, 'PAID');
    await withoutCallbacks(service);
    const secondPaymentId = await session.pay({ late: true });
    await reconcileAfter(5);
    await until(async () => {
      const [refund] = await madeAtGateway(service, secondPaymentId, 'refunds');
      return refund?.status === 'processed';
    });
    expect((await read(order)).status).toBe('PAID');
  });

  test('about a PAID session every four minutes, about an open one each minute', async () => {
    const asked = async ({ gatewayId }: { gatewayId: string }) =>
      breakGateway(service, {
        kind: 'late',
        path: `/v1/payments/qr_codes/${gatewayId}/payments`,
        delayMs: 0,
      });
    const [paid, unpaid] = [await anOrderBeingPaid(), await anOrderBeingPaid()];
    await paid.session.pay();
    await untilStatus(paid.order, 'PAID');
    const [aboutPaid, aboutOpen] = [await asked(paid.session), await asked(unpaid.session)];
    for (let run = 1; run <= 6; run += 1) await reconcileAfter(1.01);
    expect([await aboutPaid.hits(), await aboutOpen.hits()]).toEqual([2, 6]);
  });

  test('for an hour from its beginning, wherever `advance` has moved its expiry', async () => {
    await withoutCallbacks(service);
    const { order, session } = await anOrderBeingPaid();
    await advance(order, 12 * 3600);
    await session.pay();
    await reconcileAfter(2);
    await untilStatus(order, 'PAID');
  });
});

describe('a session that is over is closed at the gateway', () => {
  test('when it has expired: it is 408, also when its order is CANCELLED', async () => {
    const { order, session } = await anOrderBeingPaid();
    await advance(order, 15 * 60);
    expect(await session.atGateway()).toBe('active');
    await reconcileAfter(2);
    expect(await session.atGateway()).toBe('closed');
    expect((await sessionOf(service, order)).state).toBe('CLOSED');
    expect(await session.look()).toEqual([408, undefined]);
    await cancel(order);
    expect((await read(order)).status).toBe('CANCELLED');
    expect(await session.look()).toEqual([408, undefined]);
  });

  test('when its order is cancelled: it is closed, also when its time would be over', async () => {
    const { order, session } = await anOrderBeingPaid();
    await cancel(order);
    expect([await session.atGateway(), await session.look()]).toEqual(['closed', [200, 'closed']]);
    await reconcileAfter(20);
    expect(await session.look()).toEqual([200, 'closed']);
  });

  test('when its order is paid meanwhile, whose second session shows closed at once', async () => {
    const { order, session } = await anOrderBeingPaid();
    await advance(order, 15 * 60);
    await open(order);
    const next = await newestSession(order);
    await session.pay();
    await untilStatus(order, 'PAID');
    expect(await next.look()).toEqual([200, 'closed']);
    await reconcileAfter(20);
    expect([await next.atGateway(), await next.look()]).toEqual(['closed', [200, 'closed']]);
    expect(await session.look()).toEqual([200, 'paid']);
  });

  test('when it has expired and its order was paid by another one: it is 408 for ever', async () => {
    const { order, session } = await anOrderBeingPaid();
    await advance(order, 15 * 60);
    await open(order);
    const next = await newestSession(order);
    await next.pay();
    await untilStatus(order, 'PAID');
    const looks = async () => [await session.look(), await next.look()];
    expect(await looks()).toEqual([
      [408, undefined],
      [200, 'paid'],
    ]);
    await reconcileAfter(2);
    expect(await session.atGateway()).toBe('closed');
    expect(await looks()).toEqual([
      [408, undefined],
      [200, 'paid'],
    ]);
  });

  test('and if it is paid in the moment of its closing, that counts', async () => {
    await withoutCallbacks(service);
    const { order, session } = await anOrderBeingPaid();
    await advance(order, 15 * 60);
    const { hits } = await breakGateway(service, {
      kind: 'late',
      path: `/v1/payments/qr_codes/${session.gatewayId}/close`,
      delayMs: 1000,
      work: 'after',
    });
    const reconciled = reconcileAfter(2);
    await until(async () => (await hits()) === 1);
    await session.pay();
    await reconciled;
    await untilStatus(order, 'PAID');
  });
});

describe('an order cancelled while its session is being opened', () => {
  const slowlyOpening = async () => {
    const order = await merchant.sandbox.create();
    const path = { path: OPENING, delayMs: 1000, work: 'after' } as const;
    const { hits } = await breakGateway(service, { kind: 'late', ...path });
    const opening = open(order);
    await until(async () => (await hits()) === 1);
    expect((await cancel(order)).status).toBe(200);
    return { order, opening };
  };
  /** What the gateway has opened for an order. */
  async function opened({ order_number }: Named) {
    const { items } = await askGateway<{ items: { status: string; notes: object }[] }>(
      service,
      'GET',
      '/v1/payments/qr_codes?count=100',
    );
    const own = items.filter(({ notes }) => JSON.stringify(notes).includes(order_number));
    return own.map(({ status }) => status);
  }

  test('answers 400, and the session is closed at the gateway', async () => {
    const { order, opening } = await slowlyOpening();
    const { status, body } = await opening;
    expect([status, body.message]).toEqual([400, 'Cannot pay; order must be in ACCEPTED status']);
    expect(await opened(order)).toEqual(['closed']);
    expect((await sessionOf(service, order)).state).toBe('FAILED');
  });

  test('answers 400 also when that session cannot be closed, which is logged', async () => {
    await breakGateway(service, { kind: 'error', path: '/v1/payments/qr_codes/*/close' });
    const { order, opening } = await slowlyOpening();
    expect((await opening).status).toBe(400);
    expect(await opened(order)).toEqual(['active']);
    const lines = service.logged.map(({ msg }) => msg);
    expect(lines).toContain('A payment session that nobody wants stays open');
  });
});
