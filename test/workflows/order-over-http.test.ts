import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { Timeline } from '../../src/orders/steps/timeline.ts';
import type { Gateway } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;

const test = serviceTest({ time: 'skipping' });

/** The commands available over HTTP: the merchant's operations, and the sandbox helpers for the buyer. */
const OPERATIONS = {
  deliver: { path: '/deliver', body: { trackingId: 'IN123' } },
  cancel: { path: '/cancel', body: { reason: 'Sold out' } },
  refund: { path: '/refund', body: { reason: 'Broken in the store' } },
  evidence: { path: '/dispute/evidence', body: { text: 'Signed for by the buyer' } },
  resolve: { path: '/dispute/resolve', body: { resolution: 'A new one is on its way' } },
  accept: { path: '/dispute/accept', body: undefined },
  pay: { path: 'pay', body: undefined },
  'fail-payment': { path: 'fail-payment', body: undefined },
  dispute: { path: 'dispute', body: { reason: 'It never arrived at my door' } },
  advance: { path: 'advance', body: { seconds: 60 } },
} as const;
type Operation = keyof typeof OPERATIONS;

function ask(merchant: Merchant, order: Order, operation: Operation) {
  const { path, body } = OPERATIONS[operation];
  return path.startsWith('/')
    ? merchant.sandbox.post(`/orders/${order.order_number}${path}`, body)
    : merchant.sandbox.help(order, path, body);
}

/** The operations that lead to each status; COMPLETED also needs time to pass. */
const WAYS: Record<OrderStatus, Operation[]> = {
  ACCEPTED: [],
  PAID: ['pay'],
  DELIVERED: ['pay', 'deliver'],
  DISPUTE_OPEN: ['pay', 'deliver', 'dispute'],
  DISPUTE_UNDER_REVIEW: ['pay', 'deliver', 'dispute', 'evidence'],
  COMPLETED: ['pay', 'deliver'],
  REFUNDED: ['pay', 'deliver', 'dispute', 'accept'],
  CANCELLED: ['cancel'],
};

async function orderIn(
  service: TestService,
  merchant: Merchant,
  status: OrderStatus,
): Promise<Order> {
  const order = await merchant.sandbox.create();
  for (const operation of WAYS[status]) await ask(merchant, order, operation);
  if (status === 'COMPLETED') await service.skip(24 * HOUR_MS + 1000);
  await merchant.sandbox.untilStatus(order, status);
  return order;
}

/** The webhooks of one order, sorted by their sequence. */
async function untilWebhook(merchant: Merchant, order: Order, event: string) {
  const isMine = ({ body }: { body: { data: Record<string, unknown> } }) =>
    body.data['order_number'] === order.order_number;
  const { receiver } = merchant;
  await receiver.until(1, (webhook) => isMine(webhook) && webhook.event === event);
  return receiver.received.filter(isMine).find((webhook) => webhook.event === event)!;
}

/** Asks for a refund that the gateway makes only after the answer. */
async function slowRefund<Answer>(
  gateway: Gateway,
  askFor: () => Promise<Answer>,
): Promise<Answer> {
  const held = { kind: 'held', path: '/v1/payments/*/refund', work: 'after' } as const;
  const { endFault } = await gateway.addFault(held);
  const answer = await askFor();
  await endFault();
  return answer;
}

// First what skips time, because each skip brings the deadlines of all open orders of the file.
describe('the exact message of each refusal over HTTP: 400 in the standard body', () => {
  const DISPUTED: OrderStatus[] = ['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'];
  const FINAL: OrderStatus[] = ['COMPLETED', 'REFUNDED', 'CANCELLED'];
  const STATUSES = Object.keys(WAYS) as OrderStatus[];
  const COMPLETED_FIRST = [...new Set<OrderStatus>(['COMPLETED', ...STATUSES])];
  const RULES: Record<Operation, { fits: OrderStatus[]; refusal: string }> = {
    deliver: {
      fits: ['PAID'],
      refusal: 'Cannot mark as delivered; order must be in PAID status',
    },
    cancel: { fits: ['ACCEPTED'], refusal: 'Cannot cancel; order must be in ACCEPTED status' },
    evidence: {
      fits: ['DISPUTE_OPEN'],
      refusal: 'Cannot submit evidence; order must be in DISPUTE_OPEN status',
    },
    refund: {
      fits: ['PAID', 'DELIVERED'],
      refusal: 'Cannot refund; order must be in PAID or DELIVERED status',
    },
    resolve: { fits: DISPUTED, refusal: 'Cannot resolve; order must be in DISPUTE status' },
    accept: { fits: DISPUTED, refusal: 'Cannot accept; order must be in DISPUTE status' },
    pay: { fits: ['ACCEPTED'], refusal: 'Cannot pay; order must be in ACCEPTED status' },
    'fail-payment': {
      fits: ['ACCEPTED'],
      refusal: 'Cannot fail payment; order must be in ACCEPTED status',
    },
    dispute: {
      fits: ['PAID', 'DELIVERED'],
      refusal: 'Cannot raise dispute; order must be in PAID or DELIVERED status',
    },
    advance: {
      fits: STATUSES.filter((status) => !FINAL.includes(status)),
      refusal:
        'Cannot advance; the order is in a final status, and no attempt of its webhooks waits',
    },
  };

  /** @param fitting operations that fit beside those of the status */
  async function assertRefusals(
    merchant: Merchant,
    order: Order,
    status: OrderStatus,
    fitting: string[] = [],
  ) {
    const before = await merchant.sandbox.read(order);
    for (const [operation, { fits, refusal }] of Object.entries(RULES)) {
      if (fits.includes(status) || fitting.includes(operation)) continue;
      const answer = await ask(merchant, order, operation as Operation);
      expect([operation, answer.status]).toEqual([operation, 400]);
      expect(answer.body).toEqual({
        success: false,
        message: refusal,
        data: null,
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      });
    }
    expect(await merchant.sandbox.read(order)).toEqual(before);
  }

  test.for(FINAL)(
    'in %s, while its webhooks still wait for an endpoint that does not respond',
    async (status, { service }) => {
      const deaf = await service.newMerchant();
      deaf.receiver.answerWith(() => 500);
      // Its webhook attempts wait, and can be moved.
      await assertRefusals(deaf, await orderIn(service, deaf, status), status, ['advance']);
    },
  );

  test.for(COMPLETED_FIRST)('in %s', async (status, { service, merchant }) => {
    const order = await orderIn(service, merchant, status);
    if (FINAL.includes(status)) {
      // The webhooks have arrived, so the workflow has closed and the row decides.
      await service.temporal.client.workflow.getHandle(order.order_number).result();
    }
    await assertRefusals(merchant, order, status);
  });
});

describe('each row of the transition table, over HTTP', () => {
  test.for([
    ['ACCEPTED', 24, 'CANCELLED', 'ORDER_CANCELLED', 'payment_link_expires_at'],
    ['DELIVERED', 24, 'COMPLETED', 'ORDER_COMPLETED', 'completes_at'],
    ['DISPUTE_OPEN', 72, 'REFUNDED', 'REFUND_PROCESSED', 'dispute'],
    ['DISPUTE_UNDER_REVIEW', 72, 'REFUNDED', 'REFUND_PROCESSED', 'dispute'],
  ] as const)(
    '%s · %i h pass → %s, %s, as %s said',
    async ([from, hours, next, event, field], { service, merchant }) => {
      const order = await orderIn(service, merchant, from);
      const before = await merchant.sandbox.read(order);
      const deadline = field === 'dispute' ? before.dispute?.respond_by : before[field];
      await service.skip(hours * HOUR_MS + 1000);
      await merchant.sandbox.untilStatus(order, next);
      const webhook = await untilWebhook(merchant, order, event);
      expect(webhook.body.data).toMatchObject({ status: next, completes_at: null });
      const ended =
        field === 'dispute' ? { respond_by: null, ended_at: webhook.body.timestamp } : null;
      expect(webhook.body.data['dispute']).toEqual(ended && expect.objectContaining(ended));
      const after = Date.parse((await merchant.sandbox.read(order)).updated_at);
      expect(after - Date.parse(deadline!)).toBeGreaterThanOrEqual(0);
      const [clock] = await service.sql<{ now: Date }[]>`SELECT service_now() AS now`;
      expect(after).toBeLessThanOrEqual(clock!.now.getTime());
    },
  );

  test('(none) · create order via API → 201, ACCEPTED, ORDER_CREATED', async ({ merchant }) => {
    const { status, body } = await merchant.sandbox.post('/orders', {
      amount: 499.5,
      buyerEmail: 'asha@example.com',
      buyerPhone: '+919876543210',
      buyerName: 'Asha Rao',
      description: 'Blue kurta, size M',
      merchantOrderId: 'shop-1',
    });
    expect([status, body.success]).toEqual([201, true]);
    expect(body.data).toMatchObject({ status: 'ACCEPTED', dispute_count: 0, amount: 499.5 });
    const { headers, body: webhook } = await untilWebhook(merchant, body.data, 'ORDER_CREATED');
    expect(headers['x-service-event']).toBe('ORDER_CREATED');
    expect(webhook).toMatchObject({
      event: 'ORDER_CREATED',
      sequence: 1,
      environment: 'sandbox',
      data: {
        order_number: body.data.order_number,
        merchant_order_id: 'shop-1',
        amount: 499.5,
        currency: 'INR',
        status: 'ACCEPTED',
        dispute_count: 0,
        buyer: { email: 'asha@example.com', name: 'Asha Rao' },
      },
    });
  });

  test.for([
    ['ACCEPTED', 'pay', 'PAID', 'PAYMENT_SUCCESS'],
    ['ACCEPTED', 'fail-payment', 'ACCEPTED', 'PAYMENT_FAILED'],
    ['ACCEPTED', 'cancel', 'CANCELLED', 'ORDER_CANCELLED'],
    ['PAID', 'deliver', 'DELIVERED', 'DELIVERY_CONFIRMED'],
    ['PAID', 'dispute', 'DISPUTE_OPEN', 'DISPUTE_RAISED'],
    ['DELIVERED', 'dispute', 'DISPUTE_OPEN', 'DISPUTE_RAISED'],
    ['DISPUTE_OPEN', 'resolve', 'DELIVERED', 'DISPUTE_RESOLVED'],
    ['DISPUTE_UNDER_REVIEW', 'resolve', 'DELIVERED', 'DISPUTE_RESOLVED'],
  ] as const)(
    '%s · %s → 200, %s, %s',
    async ([from, operation, next, event], { service, merchant }) => {
      const order = await orderIn(service, merchant, from);
      const { status, body } = await ask(merchant, order, operation);
      expect([status, body.success, body.data.status]).toEqual([200, true, next]);
      expect(await merchant.sandbox.read(order)).toEqual(body.data);
      const webhook = await untilWebhook(merchant, order, event);
      const { payment_failure: failure, ...data } = webhook.body.data;
      expect(data).toEqual(JSON.parse(JSON.stringify(body.data)));
      expect(failure !== undefined).toBe(event === 'PAYMENT_FAILED');
    },
  );

  test.for(['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'] as const)(
    '%s · accept → 200 immediately, REFUNDED and REFUND_PROCESSED when the gateway has refunded',
    async (from, { service, merchant, gateway }) => {
      const order = await orderIn(service, merchant, from);
      const { status, body } = await slowRefund(gateway, () => ask(merchant, order, 'accept'));
      expect([status, body.data.status]).toEqual([200, from]);
      expect(body.data.refund).toEqual({
        amount: order.amount,
        reason: 'dispute_accepted',
        processed_at: null,
      });
      await merchant.sandbox.untilStatus(order, 'REFUNDED');
      const webhook = await untilWebhook(merchant, order, 'REFUND_PROCESSED');
      expect(webhook.body.data).toMatchObject({
        status: 'REFUNDED',
        dispute: {
          respond_by: null,
          resolution: null,
          decision: null,
          ended_at: webhook.body.timestamp,
        },
      });
      expect((await merchant.sandbox.read(order)).refund?.processed_at).toEqual(expect.any(String));
    },
  );

  test.for(['PAID', 'DELIVERED'] as const)(
    '%s · refund → 200 immediately, REFUNDED and REFUND_PROCESSED when the gateway has refunded',
    async (from, { service, merchant, gateway }) => {
      const order = await orderIn(service, merchant, from);
      const { status, body } = await slowRefund(gateway, () => ask(merchant, order, 'refund'));
      const refund = { amount: order.amount, reason: 'merchant_refund', processed_at: null };
      expect([status, body.data.status, body.data.refund]).toEqual([200, from, refund]);
      await merchant.sandbox.untilStatus(order, 'REFUNDED');
      const webhook = await untilWebhook(merchant, order, 'REFUND_PROCESSED');
      const processed_at = webhook.body.timestamp;
      expect(webhook.body.data).toMatchObject({ status: 'REFUNDED', refund: { processed_at } });
      expect(webhook.body.data['dispute']).toBeNull();
      const { entries } = await merchant.sandbox.timeline(order);
      expect(entries.find(({ kind }) => kind === 'REFUND_STARTED')?.details).toEqual({
        reason: 'Broken in the store',
      });
    },
  );

  test('DISPUTE_OPEN · evidence → 200, DISPUTE_UNDER_REVIEW with 72 hours from now, no webhook', async ({
    service,
    merchant,
  }) => {
    const order = await orderIn(service, merchant, 'DISPUTE_OPEN');
    const { status, body } = await ask(merchant, order, 'evidence');
    expect([status, body.data.status]).toEqual([200, 'DISPUTE_UNDER_REVIEW']);
    const { respond_by, evidence } = body.data.dispute!;
    expect(evidence).toBe('Signed for by the buyer');
    expect(Date.parse(respond_by!) - Date.parse(body.data.updated_at)).toBe(72 * HOUR_MS);
    const { body: timeline } = await merchant.sandbox.get<Timeline>(
      `/orders/${order.order_number}/timeline`,
    );
    expect(timeline.data.entries.at(-1)).toMatchObject({
      kind: 'EVIDENCE_SUBMITTED',
      details: { text: 'Signed for by the buyer' },
      webhook: null,
    });
  });

  test('advance brings only the deadline of its order nearer', async ({ service, merchant }) => {
    const [order, other] = [
      await orderIn(service, merchant, 'DELIVERED'),
      await orderIn(service, merchant, 'DELIVERED'),
    ];
    const untouched = await merchant.sandbox.read(other);
    const { completes_at: before } = await merchant.sandbox.read(order);
    const { body } = await merchant.sandbox.help(order, 'advance', { seconds: 3600 });
    expect(Date.parse(before!) - Date.parse(body.data.completes_at!)).toBe(HOUR_MS);
    await merchant.sandbox.help(order, 'advance', { seconds: 24 * 3600 });
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
    expect(await merchant.sandbox.read(other)).toEqual(untouched);
  });
});
