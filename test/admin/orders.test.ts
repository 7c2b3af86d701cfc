import { describe, expect, onTestFinished } from 'vitest';
import { showLedger, verifyLedger } from '../../src/ledger/verify.ts';
import {
  raiseDisputeForBuyer,
  refundForMerchant,
} from '../../src/orders/commands/operator-commands.ts';
import { findOrderByNumber } from '../../src/orders/find-order.ts';
import { wakeOrder } from '../../src/orders/wake/wake-order.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { Timeline } from '../../src/orders/steps/timeline-presenter.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { adminCli } from '../support/admin-cli.ts';
import type { AuditEntry } from '../../src/merchants/audit-log.ts';
import { auditOf } from '../support/audit.ts';
import { alerts, setSwitches } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { operatorOf } from '../support/operator-of.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const REASON = 'The parcel holds a brick instead of a kurta';
const DAY_SECONDS = 24 * 3600;

const test = serviceTest({ time: 'real' });

async function paidOrder({ sandbox }: Merchant): Promise<Order> {
  const order = await sandbox.create();
  return (await sandbox.help(order, 'pay')).body.data;
}

async function deliveredOrder(merchant: Merchant): Promise<Order> {
  const { order_number } = await paidOrder(merchant);
  return (await merchant.sandbox.post(`/orders/${order_number}/deliver`)).body.data;
}

async function orderUnderReview(merchant: Merchant): Promise<Order> {
  const order = await paidOrder(merchant);
  await merchant.sandbox.help(order, 'dispute', { reason: REASON });
  const evidence = `/orders/${order.order_number}/dispute/evidence`;
  return (await merchant.sandbox.post(evidence, { text: 'It was sent' })).body.data;
}

const auditOfOrder = async (
  service: TestService,
  merchant: Merchant,
  { order_number }: Order,
): Promise<AuditEntry[]> =>
  (await auditOf(service.sql, merchant.merchantId)).filter(
    ({ subject }) => subject === order_number,
  );

test('a suspended merchant’s order is refunded by an operator, with a reason and an audit row', async ({
  service,
}) => {
  const suspended = await service.newMerchant({ webhooks: false });
  const order = await paidOrder(suspended);
  await expect(refundForMerchant(operatorOf(service), order.order_number, 'Slow')).rejects.toThrow(
    'it is approved and can refund the order itself',
  );
  await service.sql`
    UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${suspended.merchantId}`;
  const refund = (reason: string) =>
    refundForMerchant(operatorOf(service), order.order_number, reason);
  await expect(refund(' ')).rejects.toThrow(
    'The reason must be 1 to 1000 characters and not blank',
  );
  expect(await auditOfOrder(service, suspended, order)).toHaveLength(0);
  expect(await refund('The shop has closed')).toMatchObject({
    refund: { amount: 499.5, reason: 'merchant_refund' },
  });
  const row = () => findOrderByNumber(service.sql, order.order_number);
  await until(async () => (await row()).status === 'REFUNDED');
  expect(await auditOfOrder(service, suspended, order)).toMatchObject([
    { action: 'order.refund', details: { reason: 'The shop has closed' } },
  ]);
  await service.sql`
    UPDATE merchants SET status = 'APPROVED' WHERE merchant_id = ${suspended.merchantId}`;
  const timeline = await suspended.sandbox.get<Timeline>(`/orders/${order.order_number}/timeline`);
  expect(timeline.body.data.entries).toContainEqual(
    expect.objectContaining({
      kind: 'REFUND_STARTED',
      details: { reason: 'The shop has closed', made_by: 'operator' },
    }),
  );
  const page = await fetch(`${service.origin}${new URL(order.payment_url ?? '').pathname}`);
  expect(await page.text()).toContain('By the payment service, for the merchant');
  await service.sql`
    UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${suspended.merchantId}`;
  await expect(refund('Once more')).rejects.toThrow(
    'Cannot refund; order must be in PAID or DELIVERED status',
  );
});

describe('a dispute', () => {
  test('is raised for a buyer under the same rules, and audited in the same statement', async ({
    service,
    merchant,
  }) => {
    const order = await paidOrder(merchant);
    const raised = await raiseDisputeForBuyer(operatorOf(service), order.order_number, REASON);
    expect(raised).toMatchObject({
      order_number: order.order_number,
      status: 'DISPUTE_OPEN',
      dispute_count: 1,
    });
    const { data } = (await merchant.sandbox.get(`/orders/${order.order_number}`)).body;
    expect(data.dispute?.reason).toBe(REASON);
    const [audit] = await auditOfOrder(service, merchant, order);
    expect(audit).toMatchObject({ action: 'dispute.raise', actor: TEST_ACTOR.name });
    const [step] = await service.sql<{ commandId: string }[]>`
      SELECT command_id FROM order_steps
      WHERE order_number = ${order.order_number} AND kind = 'DISPUTE_RAISED'`;
    expect(audit?.details).toEqual({ commandId: step?.commandId, reason: REASON });
  });

  test('cannot be raised if a buyer could not, and then its line says that it was refused', async ({
    service,
    merchant,
  }) => {
    const order = await merchant.sandbox.create();
    const raise = (orderNumber: string, reason: string) =>
      raiseDisputeForBuyer(operatorOf(service), orderNumber, reason);
    await expect(raise(order.order_number, REASON)).rejects.toThrow(
      'Cannot raise dispute; order must be in PAID or DELIVERED status',
    );
    await expect(raise(order.order_number, 'short')).rejects.toThrow(
      'The reason must be 10 to 2000 characters and not blank',
    );
    await expect(raise('ORDX', REASON)).rejects.toThrow('Order not found: ORDX');
    expect(await auditOfOrder(service, merchant, order)).toMatchObject([
      { action: 'dispute.raise', outcome: 'REFUSED', reason: REASON },
    ]);
  });

  const decide = ({ order_number }: Order, winner: string, reason: string) => {
    const command = ['dispute', 'decide', '--order', order_number];
    return [...command, '--for', winner, '--reason', reason];
  };

  test('under review is decided for the merchant: DELIVERED, with a fresh window', async ({
    service,
    merchant,
    cli,
  }) => {
    const order = await orderUnderReview(merchant);
    const beforeMs = Date.now();
    const decided = await cli.json<{ completesAt: string }>(
      ...decide(order, 'merchant', 'The parcel was weighed: no brick'),
    );
    expect(decided).toMatchObject({ status: 'DELIVERED' });
    const windowMs = new Date(decided.completesAt).getTime() - beforeMs;
    expect(windowMs).toBeGreaterThanOrEqual(DAY_SECONDS * 1000);
    expect((await auditOfOrder(service, merchant, order)).at(-1)).toMatchObject({
      action: 'dispute.decide',
      details: { for: 'merchant', reason: 'The parcel was weighed: no brick' },
    });
  });

  test.for([
    ['merchant', 'DELIVERED'],
    ['buyer', 'REFUNDED'],
  ] as const)(
    'without evidence is decided for the %s, too',
    async ([winner, ends], { merchant, cli }) => {
      const order = await merchant.sandbox.create();
      await merchant.sandbox.help(order, 'pay');
      await merchant.sandbox.help(order, 'dispute', { reason: REASON });
      await cli.json(...decide(order, winner, 'Both sides were asked'));
      await merchant.sandbox.untilStatus(order, ends);
    },
  );

  test('decided for the merchant shows the reason to both sides', async ({ merchant, cli }) => {
    const order = await orderUnderReview(merchant);
    const reason = 'The parcel was weighed: <no brick>';
    await cli.json(...decide(order, 'merchant', reason));
    const { data } = (await merchant.sandbox.get(`/orders/${order.order_number}`)).body;
    const at = expect.stringMatching(/Z$/);
    expect(data.dispute).toEqual({
      reason: REASON,
      raised_at: at,
      respond_by: null,
      evidence: 'It was sent',
      resolution: null,
      decision: { for: 'merchant', reason, decided_at: at },
      ended_at: at,
    });
    const page = await (await fetch(order.payment_url)).text();
    expect(page).toContain('Decided for the merchant, because');
    expect(page).toContain('The parcel was weighed: &lt;no brick>');
  });

  test('is not decided without a reason, and then nothing is written', async ({
    service,
    merchant,
    cli,
  }) => {
    const order = await orderUnderReview(merchant);
    const before = (await auditOfOrder(service, merchant, order)).length;
    for (const reason of [' ', 'x'.repeat(2001)]) {
      expect(await cli.refusal(...decide(order, 'buyer', reason))).toBe(
        'The reason must be 1 to 2000 characters and not blank',
      );
    }
    expect((await merchant.sandbox.read(order)).status).toBe('DISPUTE_UNDER_REVIEW');
    expect(await auditOfOrder(service, merchant, order)).toHaveLength(before);
  });

  test('under review is decided for the buyer: REFUNDED once the gateway has refunded', async ({
    merchant,
    cli,
  }) => {
    const order = await orderUnderReview(merchant);
    const decideForBuyer = decide(order, 'buyer', 'No proof of delivery');
    expect(await cli.json(...decideForBuyer)).toMatchObject({
      refund: { amount: 499.5, reason: 'dispute_decided_for_buyer' },
    });
    await merchant.sandbox.untilStatus(order, 'REFUNDED');
    const { data } = (await merchant.sandbox.get(`/orders/${order.order_number}`)).body;
    expect(data.dispute).toMatchObject({
      respond_by: null,
      decision: { for: 'buyer', reason: 'No proof of delivery' },
      ended_at: expect.any(String),
    });
    expect(await (await fetch(order.payment_url)).text()).toContain('Decided for you, because');
    expect(await cli.refusal(...decideForBuyer)).toBe(
      'Cannot decide; order must be in DISPUTE status',
    );
  });
});

describe('a settlement made outside the gateway', () => {
  const referenceOf = ({ order_number }: Order) => `UTR of ${order_number}`;
  const settle = (order: Order, reference = referenceOf(order)) => {
    const command = ['order', 'settle', '--order', order.order_number];
    return [...command, '--reference', reference, '--reason', 'Account closed'];
  };

  /** An order whose refund the gateway has refused permanently: its next attempt is an hour away. */
  async function refusedRefund(service: TestService, merchant: Merchant): Promise<Order> {
    const order = await orderUnderReview(merchant);
    const [row] = await service.sql<{ id: string }[]>`
      SELECT gateway_payment_id AS id FROM orders WHERE order_number = ${order.order_number}`;
    await setSwitches(service, row?.id ?? '', { refundsRefused: true });
    await merchant.sandbox.post(`/orders/${order.order_number}/dispute/accept`);
    await until(() => alerts(service, 'gateway_refused', order.order_number).length > 0);
    return order;
  }

  /** Marks the row as finished. Its money has not moved, so row and workflow are restored afterwards. */
  async function pretendFinished(
    service: TestService,
    { order_number: orderNumber }: Order,
  ): Promise<void> {
    const handle = service.temporal.client.workflow.getHandle(orderNumber);
    await handle.terminate('Its row is written by hand');
    await service.sql`
      UPDATE orders SET status = 'REFUNDED', pending_operation = NULL WHERE order_number = ${orderNumber}`;
    onTestFinished(async () => {
      await service.sql`
        UPDATE orders SET status = 'DISPUTE_UNDER_REVIEW' WHERE order_number = ${orderNumber}`;
      await wakeOrder(service.deps, orderNumber);
    });
  }

  test('finishes a refund that the gateway refuses, once, with its ledger line and audit row', async ({
    service,
    merchant,
    cli,
  }) => {
    const order = await refusedRefund(service, merchant);
    expect((await merchant.sandbox.read(order)).status).toBe('DISPUTE_UNDER_REVIEW');
    expect(await cli.alone.json(...settle(order))).toEqual({
      orderNumber: order.order_number,
      status: 'REFUNDED',
      amountPaise: 49_950,
      reference: referenceOf(order),
      warning: null,
    });
    expect(await showLedger(service.sql, order.order_number)).toMatchObject({
      outsideReference: referenceOf(order),
      lines: [{ operation: 'capture' }, { operation: 'refund', from: 'merchant_held' }],
    });
    const [webhook] = await merchant.receiver.until(
      1,
      ({ event, body }) =>
        event === 'REFUND_PROCESSED' && body.data['order_number'] === order.order_number,
    );
    expect(webhook?.body.data['status']).toBe('REFUNDED');
    expect(await cli.alone.json(...settle(order))).toMatchObject({
      status: 'REFUNDED',
      warning: null,
    });
    expect(await cli.alone.refusal(...settle(order, 'UTR 418'))).toContain(
      `is settled outside already, with reference ${referenceOf(order)}`,
    );
    const settlements = (await auditOfOrder(service, merchant, order)).filter(
      ({ action }) => action === 'order.settle',
    );
    expect(settlements).toMatchObject([
      { details: { outcome: 'refunded', reference: referenceOf(order), reason: 'Account closed' } },
    ]);
  });

  test('finishes a release that the gateway refuses', async ({ service, merchant, cli }) => {
    const order = await deliveredOrder(merchant);
    const [paid] = await service.sql<{ id: string }[]>`
      SELECT gateway_payment_id AS id FROM orders WHERE order_number = ${order.order_number}`;
    await setSwitches(service, paid?.id ?? '', { transfersRefused: true });
    await merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS });
    await until(() => alerts(service, 'gateway_refused', order.order_number).length > 0);
    expect(await cli.alone.json(...settle(order))).toMatchObject({
      status: 'COMPLETED',
      warning: null,
    });
  });

  async function settleWithoutTemporal(service: TestService, merchant: Merchant) {
    const order = await refusedRefund(service, merchant);
    const away = adminCli({ ...service.env, TEMPORAL_ADDRESS: '127.0.0.1:1' });
    return { order, line: await away.alone.refusal(...settle(order)) };
  }

  test('that the order finds by itself, before it is notified, causes no warning', async ({
    service,
    merchant,
    cli,
  }) => {
    const { order, line } = await settleWithoutTemporal(service, merchant);
    expect(line).toContain('The settlement is recorded');
    await wakeOrder(service.deps, order.order_number);
    await merchant.sandbox.untilStatus(order, 'REFUNDED');
    expect(await cli.alone.json(...settle(order))).toMatchObject({
      status: 'REFUNDED',
      warning: null,
    });
  });

  test('is refused while the order is not releasing or refunding, and writes nothing', async ({
    service,
    merchant,
    cli,
  }) => {
    const order = await deliveredOrder(merchant);
    expect(await cli.alone.refusal(...settle(order))).toBe(
      'Cannot settle; order must be releasing or refunding its money, or have lost it at the gateway',
    );
    expect(await cli.alone.refusal(...settle(order, ' '))).toContain(
      'The reference must be 1 to 200',
    );
    expect(await auditOfOrder(service, merchant, order)).toEqual([]);
  });

  test('is recorded if Temporal does not respond: the line says so, and a repeat notifies the order', async ({
    service,
    merchant,
    cli,
  }) => {
    const { order, line } = await settleWithoutTemporal(service, merchant);
    expect(line).toBe(
      `The settlement is recorded, but order ${order.order_number} could not be notified: run the command again`,
    );
    expect(await cli.alone.json(...settle(order))).toMatchObject({
      status: 'REFUNDED',
      warning: null,
    });
  });

  test('that is made after the order was finished by itself is recorded with a warning', async ({
    service,
    merchant,
    cli,
  }) => {
    const order = await refusedRefund(service, merchant);
    // This settlement was written, and the gateway refunded after all before the order was notified.
    await service.sql`
      INSERT INTO outside_settlements (order_number, outcome, amount_paise, reference, reason, actor)
      VALUES (${order.order_number}, 'refunded', 49950, ${referenceOf(order)}, 'Account closed', 'test')`;
    await pretendFinished(service, order);
    const { warning } = await cli.alone.json<{ warning: string }>(...settle(order));
    expect(warning).toContain('check that the gateway has not moved its money too');
  });
});

test('after all of these tests the ledger is sound', async ({ service, cli }) => {
  expect((await verifyLedger(service.sql)).faults).toEqual([]);
  expect(await cli.json('ledger', 'verify')).toMatchObject({ ok: true, faultCount: 0 });
});
