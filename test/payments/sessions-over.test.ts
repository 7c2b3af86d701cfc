import { describe, expect } from 'vitest';
import { reconcilePayments } from '../../src/payments/reconcile.ts';
import type { OrderRef } from '../support/api-client.ts';
import type { Gateway } from '../support/gateway.ts';
import {
  askGateway,
  madeAtGateway,
  payAtGateway,
  sessionOf,
  withCallbacks,
  withoutCallbacks,
} from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const OPENING = '/v1/payments/qr_codes';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test.beforeEach(async ({ service }) => {
  await withCallbacks(service);
});

const open = (merchant: Merchant, { order_number }: OrderRef) =>
  merchant.sandbox.post(`/orders/${order_number}/payment-sessions`);
const cancel = (merchant: Merchant, { order_number }: OrderRef) =>
  merchant.sandbox.post(`/orders/${order_number}/cancel`);
const advance = (merchant: Merchant, order: OrderRef, seconds: number) =>
  merchant.sandbox.help(order, 'advance', { seconds });
const qrCode = (service: TestService, id: string) =>
  askGateway<{ status: string }>(service, 'GET', `/v1/payments/qr_codes/${id}`);

/** The newest session of an order, in our book, at the gateway and as the merchant sees it. */
async function newestSession(service: TestService, merchant: Merchant, order: OrderRef) {
  const { sessionId, gatewaySessionId: gatewayId } = await sessionOf(service, order);
  const path = `/orders/${order.order_number}/payment-sessions/${sessionId}`;
  return {
    gatewayId,
    pay: (attempt = {}) => payAtGateway(service, gatewayId, attempt),
    atGateway: async () => (await qrCode(service, gatewayId)).status,
    async look() {
      const { status, body } = await merchant.sandbox.get<{ status: string }>(path);
      return [status, body.data?.status];
    },
  };
}

async function anOrderBeingPaid(service: TestService, merchant: Merchant) {
  const order = await merchant.sandbox.create();
  await open(merchant, order);
  return { order, session: await newestSession(service, merchant, order) };
}

async function reconcileAfter(service: TestService, minutes: number): Promise<void> {
  await service.clock.advance(minutes * MINUTE_MS);
  await reconcilePayments(service.deps);
}

describe('reconciliation asks the gateway', () => {
  test('about a PAID session too: a second payment whose callback is lost goes back', async ({
    service,
    merchant,
  }) => {
    const { order, session } = await anOrderBeingPaid(service, merchant);
    await session.pay();
    await merchant.sandbox.untilStatus(order, 'PAID');
    await withoutCallbacks(service);
    const secondPaymentId = await session.pay({ late: true });
    await reconcileAfter(service, 76);
    await until(async () => {
      const [refund] = await madeAtGateway(service, secondPaymentId, 'refunds');
      return refund?.status === 'processed';
    });
    expect((await merchant.sandbox.read(order)).status).toBe('PAID');
  });

  test('about an open session after 2 and 7 minutes, at its end and an hour later, about a PAID one once', async ({
    service,
    merchant,
    gateway,
  }) => {
    const asked = async ({ gatewayId }: { gatewayId: string }) =>
      gateway.addFault({
        kind: 'late',
        path: `/v1/payments/qr_codes/${gatewayId}/payments`,
        delayMs: 0,
      });
    const [paid, unpaid] = [
      await anOrderBeingPaid(service, merchant),
      await anOrderBeingPaid(service, merchant),
    ];
    await paid.session.pay();
    await merchant.sandbox.untilStatus(paid.order, 'PAID');
    const [aboutPaid, aboutOpen] = [await asked(paid.session), await asked(unpaid.session)];
    const minutes: { paid: number[]; open: number[] } = { paid: [], open: [] };
    await service.clock.advance(0.3 * MINUTE_MS);
    for (let minute = 1; minute <= 80; minute += 1) {
      const before = [await aboutPaid.hits(), await aboutOpen.hits()];
      await reconcileAfter(service, 1);
      if ((await aboutPaid.hits()) > before[0]!) minutes.paid.push(minute);
      if ((await aboutOpen.hits()) > before[1]!) minutes.open.push(minute);
    }
    expect(minutes).toEqual({ paid: [75], open: [2, 7, 15, 75] });
    expect(await unpaid.session.atGateway()).toBe('closed');
  });

  test('for an hour from its beginning, wherever `advance` has moved its expiry', async ({
    service,
    merchant,
  }) => {
    await withoutCallbacks(service);
    const { order, session } = await anOrderBeingPaid(service, merchant);
    await advance(merchant, order, 12 * 3600);
    await session.pay();
    await reconcileAfter(service, 2);
    await merchant.sandbox.untilStatus(order, 'PAID');
  });
});

describe('a session that is over is closed at the gateway', () => {
  test('when it has expired: it is 408, also when its order is CANCELLED', async ({
    service,
    merchant,
  }) => {
    const { order, session } = await anOrderBeingPaid(service, merchant);
    await advance(merchant, order, 15 * 60);
    expect(await session.atGateway()).toBe('active');
    await reconcileAfter(service, 2);
    expect(await session.atGateway()).toBe('closed');
    expect((await sessionOf(service, order)).state).toBe('CLOSED');
    expect(await session.look()).toEqual([408, undefined]);
    await cancel(merchant, order);
    expect((await merchant.sandbox.read(order)).status).toBe('CANCELLED');
    expect(await session.look()).toEqual([408, undefined]);
  });

  test('when its order is cancelled: it is closed, also when its time would be over', async ({
    service,
    merchant,
  }) => {
    const { order, session } = await anOrderBeingPaid(service, merchant);
    await cancel(merchant, order);
    expect([await session.atGateway(), await session.look()]).toEqual(['closed', [200, 'closed']]);
    await reconcileAfter(service, 20);
    expect(await session.look()).toEqual([200, 'closed']);
  });

  test('when its order is paid meanwhile, whose second session shows closed at once', async ({
    service,
    merchant,
  }) => {
    const { order, session } = await anOrderBeingPaid(service, merchant);
    await advance(merchant, order, 15 * 60);
    await open(merchant, order);
    const next = await newestSession(service, merchant, order);
    await session.pay();
    await merchant.sandbox.untilStatus(order, 'PAID');
    expect(await next.look()).toEqual([200, 'closed']);
    await reconcileAfter(service, 20);
    expect([await next.atGateway(), await next.look()]).toEqual(['closed', [200, 'closed']]);
    expect(await session.look()).toEqual([200, 'paid']);
  });

  test('when it has expired and its order was paid by another one: it is 408 for ever', async ({
    service,
    merchant,
  }) => {
    const { order, session } = await anOrderBeingPaid(service, merchant);
    await advance(merchant, order, 15 * 60);
    await open(merchant, order);
    const next = await newestSession(service, merchant, order);
    await next.pay();
    await merchant.sandbox.untilStatus(order, 'PAID');
    const looks = async () => [await session.look(), await next.look()];
    expect(await looks()).toEqual([
      [408, undefined],
      [200, 'paid'],
    ]);
    await reconcileAfter(service, 2);
    expect(await session.atGateway()).toBe('closed');
    expect(await looks()).toEqual([
      [408, undefined],
      [200, 'paid'],
    ]);
  });

  test('and if it is paid in the moment of its closing, that counts', async ({
    service,
    merchant,
    gateway,
  }) => {
    await withoutCallbacks(service);
    const { order, session } = await anOrderBeingPaid(service, merchant);
    await advance(merchant, order, 15 * 60);
    const { hits } = await gateway.addFault({
      kind: 'late',
      path: `/v1/payments/qr_codes/${session.gatewayId}/close`,
      delayMs: 1000,
      work: 'after',
    });
    const reconciled = reconcileAfter(service, 2);
    await until(async () => (await hits()) === 1);
    await session.pay();
    await reconciled;
    await merchant.sandbox.untilStatus(order, 'PAID');
  });
});

describe('an order cancelled while its session is being opened', () => {
  const slowlyOpening = async (merchant: Merchant, gateway: Gateway) => {
    const order = await merchant.sandbox.create();
    const path = { path: OPENING, delayMs: 1000, work: 'after' } as const;
    const { hits } = await gateway.addFault({ kind: 'late', ...path });
    const opening = open(merchant, order);
    await until(async () => (await hits()) === 1);
    expect((await cancel(merchant, order)).status).toBe(200);
    return { order, opening };
  };
  /** What the gateway has opened for an order. */
  async function opened(service: TestService, { order_number }: OrderRef) {
    const { items } = await askGateway<{ items: { status: string; notes: object }[] }>(
      service,
      'GET',
      '/v1/payments/qr_codes?count=100',
    );
    const own = items.filter(({ notes }) => JSON.stringify(notes).includes(order_number));
    return own.map(({ status }) => status);
  }

  test('answers 400, and the session is closed at the gateway', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, opening } = await slowlyOpening(merchant, gateway);
    const { status, body } = await opening;
    expect([status, body.message]).toEqual([400, 'Cannot pay; order must be in ACCEPTED status']);
    expect(await opened(service, order)).toEqual(['closed']);
    expect((await sessionOf(service, order)).state).toBe('FAILED');
  });

  test('answers 400 also when that session cannot be closed, which is logged', async ({
    service,
    merchant,
    gateway,
  }) => {
    await gateway.addFault({ kind: 'error', path: '/v1/payments/qr_codes/*/close' });
    const { order, opening } = await slowlyOpening(merchant, gateway);
    expect((await opening).status).toBe(400);
    expect(await opened(service, order)).toEqual(['active']);
    const lines = service.logged.map(({ msg }) => msg);
    expect(lines).toContain('A payment session that nobody wants stays open');
  });
});
