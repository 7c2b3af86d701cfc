import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { isFinal, ORDER_STATUSES } from '../../src/domain/index.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { obey, refusalOf } from '../domain/lifecycle-model.ts';
import { aCommand, factsIn, NOW_MS, rowsOf } from '../domain/lifecycle-walk.ts';
import type { ClientCommand } from '../support/command-requests.ts';
import { ask, CLIENT_COMMANDS, orderOverHttp } from '../support/command-requests.ts';
import type { Gateway } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { aRefusingMerchant, untilTemporalWaits } from '../webhooks/deliveries.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The reason of each decision that the sandbox makes. */
const DECIDED = 'Decided by the sandbox test helper';

const test = serviceTest({ time: 'skipping' });

async function orderIn(
  service: TestService,
  merchant: Merchant,
  status: OrderStatus,
): Promise<Order> {
  const order = await orderOverHttp(merchant.sandbox, status);
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
  const FINAL = ORDER_STATUSES.filter(isFinal);
  const COMPLETED_FIRST = [...new Set<OrderStatus>(['COMPLETED', ...ORDER_STATUSES])];

  /** What the API answers to a command; undefined if the command fits. */
  function refusalIn(status: OrderStatus, type: ClientCommand): string | undefined {
    const [facts, command] = [factsIn(status), aCommand(type)];
    if (obey(facts, command, NOW_MS)) return undefined;
    return type === 'advance'
      ? 'Cannot advance; the order is in a final status, and no attempt of its webhooks waits'
      : refusalOf(facts, command);
  }

  /** @param fitting a command that fits beside those of the status */
  async function assertRefusals(
    merchant: Merchant,
    order: Order,
    status: OrderStatus,
    fitting?: ClientCommand,
  ) {
    const before = await merchant.sandbox.read(order);
    for (const command of CLIENT_COMMANDS) {
      const refusal = refusalIn(status, command);
      if (refusal === undefined || command === fitting) continue;
      const answer = await ask(merchant.sandbox, command, order);
      expect([command, answer.status]).toEqual([command, 400]);
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
      const deaf = await aRefusingMerchant(service);
      const order = await orderIn(service, deaf, status);
      // The time-skipping server never answers an Update that arrives while a workflow ends, as this one does at
      // COMPLETED, until the first attempt of its last webhook has failed.
      await untilTemporalWaits(service, order.order_number, 1);
      // Its webhook attempts wait, and can be moved.
      await assertRefusals(deaf, order, status, 'advance');
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

const ROWS = rowsOf(CLIENT_COMMANDS);
const isRefund = ({ pending }: (typeof ROWS)[number]) => pending?.kind === 'refunding';

describe('each row of the transition table, over HTTP', () => {
  test.for(rowsOf(['expire']))(
    '$from · its deadline passes → $to, $step, when the order said so, and not before',
    async ({ from, to, step, pending }, { service, merchant }) => {
      const order = await orderIn(service, merchant, from);
      const before = await merchant.sandbox.read(order);
      const isDisputed = before.dispute !== null;
      const deadline = Date.parse(
        before.dispute?.respond_by ?? before.completes_at ?? before.payment_link_expires_at,
      );
      expect(deadline - Date.parse(before.updated_at)).toBe((isDisputed ? 72 : 24) * HOUR_MS);
      await service.skip((isDisputed ? 72 : 24) * HOUR_MS - MINUTE_MS);
      expect((await merchant.sandbox.read(order)).status).toBe(from);
      await service.skip(MINUTE_MS + 1000);
      await merchant.sandbox.untilStatus(order, to);
      const webhook = await untilWebhook(merchant, order, step);
      expect(webhook.body.data).toMatchObject({
        status: to,
        completes_at: null,
        refund: pending?.kind === 'refunding' ? { reason: pending.reason } : null,
      });
      const ended = { respond_by: null, ended_at: webhook.body.timestamp };
      expect(webhook.body.data['dispute']).toEqual(
        isDisputed ? expect.objectContaining(ended) : null,
      );
      const after = Date.parse((await merchant.sandbox.read(order)).updated_at);
      expect(after).toBeGreaterThanOrEqual(deadline);
      expect(after).toBeLessThanOrEqual(await service.temporal.nowMs());
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

  test.for(ROWS.filter((row) => !isRefund(row) && row.isEvent))(
    '$from · $type → 200, $to, $step',
    async ({ from, type, to, step }, { service, merchant }) => {
      const order = await orderIn(service, merchant, from);
      const { status, body } = await ask(merchant.sandbox, type as ClientCommand, order);
      expect([status, body.success, body.data.status]).toEqual([200, true, to]);
      expect(await merchant.sandbox.read(order)).toEqual(body.data);
      const webhook = await untilWebhook(merchant, order, step);
      const { payment_failure: failure, ...data } = webhook.body.data;
      expect(data).toEqual(JSON.parse(JSON.stringify(body.data)));
      expect(failure !== undefined).toBe(step === 'PAYMENT_FAILED');
      if (type === 'decideForMerchant') {
        expect(body.data.dispute?.decision).toMatchObject({ for: 'merchant', reason: DECIDED });
      }
    },
  );

  test.for(ROWS.filter(isRefund))(
    '$from · $type → 200 immediately, REFUNDED and REFUND_PROCESSED when the gateway has refunded',
    async ({ from, type, pending }, { service, merchant, gateway }) => {
      const order = await orderIn(service, merchant, from);
      const { status, body } = await slowRefund(gateway, () =>
        ask(merchant.sandbox, type as ClientCommand, order),
      );
      const reason = pending?.kind === 'refunding' ? pending.reason : undefined;
      const refund = { amount: order.amount, reason, processed_at: null };
      expect([status, body.data.status, body.data.refund]).toEqual([200, from, refund]);
      await merchant.sandbox.untilStatus(order, 'REFUNDED');
      const webhook = await untilWebhook(merchant, order, 'REFUND_PROCESSED');
      const processed_at = webhook.body.timestamp;
      expect(webhook.body.data).toMatchObject({ status: 'REFUNDED', refund: { processed_at } });
      const ended = { respond_by: null, resolution: null, ended_at: processed_at };
      expect(webhook.body.data['dispute']).toEqual(
        body.data.dispute && expect.objectContaining(ended),
      );
      expect((await merchant.sandbox.read(order)).refund?.processed_at).toEqual(expect.any(String));
      if (type === 'decideForBuyer') {
        const decision: unknown = expect.objectContaining({ for: 'buyer', reason: DECIDED });
        expect(webhook.body.data['dispute']).toMatchObject({ decision });
      }
      if (type !== 'refund') return;
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
    const { status, body } = await ask(merchant.sandbox, 'submitEvidence', order);
    expect([status, body.data.status]).toEqual([200, 'DISPUTE_UNDER_REVIEW']);
    const { respond_by, evidence } = body.data.dispute!;
    expect(evidence).toBe('Signed for by the buyer');
    expect(Date.parse(respond_by!) - Date.parse(body.data.updated_at)).toBe(72 * HOUR_MS);
    const { entries } = await merchant.sandbox.timeline(order);
    expect(entries.at(-1)).toMatchObject({
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
