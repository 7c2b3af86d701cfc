import { describe, expect } from 'vitest';
import {
  alertOnDifferences,
  compareWithGateway,
} from '../../../src/payments/reconcile/compare-gateway.ts';
import { holdFunds } from '../../../src/payments/funds/funds.ts';
import { withMoneyLease } from '../../../src/payments/funds/money-lease.ts';
import type { OutsideSettlement } from '../../../src/payments/settlement/settle-outside.ts';
import type { NewSettlement } from '../../../src/payments/settlement/settlement-queries.ts';
import { writeSettlement } from '../../../src/payments/settlement/settlement-queries.ts';
import { settleOutside } from '../../../src/payments/settlement/settle-outside.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { TEST_ACTOR } from '../../support/actor.ts';
import { auditOf } from '../../support/audit.ts';
import {
  askGateway,
  atRazorpay,
  openChargeback,
  setSwitches,
  simulator,
  withCallbacks,
  withoutCallbacks,
} from '../../support/gateway.ts';
import type { DirectOrder, Orders } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { whenMoneyIsFree } from '../../support/when-money-is-free.ts';

const AMOUNT_PAISE = 49_950;
const PART_PAISE = 10_000;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test.afterEach(async ({ service }) => {
  await setRefundsPending(service, false);
  const { ok, faults } = await verifyLedger(service.sql);
  expect({ ok, faults }).toEqual({ ok: true, faults: [] });
});

const setRefundsPending = (service: TestService, refundsStartPending: boolean) =>
  setSwitches(service, 'all', { refundsStartPending });

const settle = ({ deps }: TestService, settlement: Omit<OutsideSettlement, 'reason'>) =>
  whenMoneyIsFree(deps.sql, () =>
    settleOutside({ ...deps, actor: TEST_ACTOR }, { ...settlement, reason: 'The bank says so' }),
  );

/** An order whose refund the gateway refuses: its money is on hold for the merchant. */
async function unrefundedOrder(service: TestService, orders: Orders) {
  const order = await orders.in('DISPUTE_OPEN');
  await holdFunds(service.deps, order.orderNumber);
  const paymentId = await order.paymentId();
  await setSwitches(service, paymentId, { refundsRefused: true });
  await order.update('accept');
  await until(async () => (await order.openAlerts()).includes('gateway_refused'));
  const [transfer] = await order.made('transfers');
  return {
    order,
    orderNumber: order.orderNumber,
    allowRefunds: () => setSwitches(service, paymentId, { refundsRefused: null }),
    /** Lifts the hold, or puts the money on hold again. */
    setOnHold: (on_hold: boolean) =>
      askGateway(service, 'PATCH', `/v1/transfers/${transfer?.id}`, { on_hold }),
    /** Transfers the payment to the merchant in the gateway's dashboard. */
    async payOut() {
      const { recipient: account, source } = await askGateway<Record<string, string>>(
        service,
        'GET',
        `/v1/transfers/${transfer?.id}`,
      );
      const transfers = [{ account, amount: AMOUNT_PAISE, currency: 'INR', on_hold: false }];
      await askGateway(service, 'POST', `/v1/payments/${source}/transfers`, { transfers });
    },
  };
}

/** An order whose refund is pending at the gateway. Returns how it ends there. */
async function refundingOrder(service: TestService, orders: Orders) {
  await setRefundsPending(service, true);
  const order = await orders.in('DISPUTE_OPEN');
  await order.update('accept');
  await until(async () => (await order.made('refunds')).length > 0);
  const [refund] = await order.made('refunds');
  const end = (status: 'processed' | 'failed') =>
    simulator(service, 'POST', `/refunds/${refund?.id}/end`, { status });
  return { order, end };
}

const settlementOf = async ({ sql }: TestService, { orderNumber }: DirectOrder) =>
  (
    await sql<{ outcome: string; isChecked: boolean }[]>`
      SELECT outcome, checked_at IS NOT NULL AS is_checked FROM outside_settlements
      WHERE order_number = ${orderNumber}`
  )[0];

describe('a settlement that the gateway contradicts is refused', () => {
  test('as released while a refund is pending at the gateway, and once it is processed', async ({
    service,
    orders,
    cli,
  }) => {
    const { order, end } = await refundingOrder(service, orders);
    const { orderNumber } = order;
    const command = ['order', 'settle', '--order', orderNumber, '--released', '--reason', 'R'];
    const line = await whenMoneyIsFree(service.sql, async () => {
      const refusal = await cli.alone.refusal(...command);
      if (refusal.startsWith('Another process')) throw new Error(refusal);
      return refusal;
    });
    expect(line).toBe(
      `Cannot settle as released: ${AMOUNT_PAISE} paise of the payment were refunded or charged back at the gateway, or may be`,
    );
    expect(await order.row()).toMatchObject({ pendingOperation: { kind: 'refunding' } });
    expect(await settlementOf(service, order)).toBeUndefined();
    await end('processed');
    // The service may have found that the refund is processed by now.
    const settled = settle(service, { orderNumber, outcome: 'released' });
    await expect(settled).rejects.toThrow('Cannot settle');
    await order.untilStatus('REFUNDED');
    expect(await order.made('refunds')).toHaveLength(1);
  });

  test('as released while a refund of the dashboard is pending; allowed once it has failed', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('DELIVERED');
    await setRefundsPending(service, true);
    // Their first callbacks are lost: the service learns of the refunds by asking.
    await withoutCallbacks(service);
    await order.refundInDashboard(PART_PAISE);
    await order.refundInDashboard(PART_PAISE);
    await withCallbacks(service);
    const [newest, oldest] = await order.made('refunds');
    const settleReleased = () =>
      settle(service, { orderNumber: order.orderNumber, outcome: 'released' });
    await expect(settleReleased()).rejects.toThrow('Cannot settle; order must be');
    await simulator(service, 'POST', `/refunds/${oldest?.id}/end`, { status: 'processed' });
    await until(async () => (await order.ledgerLines()).length === 2);
    await expect(settleReleased()).rejects.toThrow(`${2 * PART_PAISE} paise of the payment`);
    await simulator(service, 'POST', `/refunds/${newest?.id}/end`, { status: 'failed' });
    await service.sql`UPDATE payments SET gateway_transfer_id = 'trf_held'
      WHERE order_number = ${order.orderNumber}`;
    expect((await settleReleased()).order.status).toBe('COMPLETED');
    expect((await order.ledgerLines()).at(-1)).toBe(
      `release: merchant_held → merchant_available ${AMOUNT_PAISE - PART_PAISE}`,
    );
    const [line] = await service.sql`SELECT movement_id FROM ledger_transfers
      WHERE order_number = ${order.orderNumber} AND operation = 'release'`;
    expect(line).toEqual({ movementId: null });
  });

  test('as released while a chargeback is open', async ({ service, orders }) => {
    const order = await orders.in('DELIVERED');
    const { orderNumber } = order;
    const endChargeback = await openChargeback(service, await order.paymentId());
    await expect(settle(service, { orderNumber, outcome: 'released' })).rejects.toThrow(
      'or charged back at the gateway, or may be',
    );
    await endChargeback('lost');
    const { order: after } = await settle(service, { orderNumber, outcome: 'released' });
    expect(after.status).toBe('COMPLETED');
  });

  test('as refunded once the merchant was paid out, but not while the funds are on hold', async ({
    service,
    orders,
  }) => {
    const { orderNumber, setOnHold } = await unrefundedOrder(service, orders);
    await setOnHold(false);
    await expect(settle(service, { orderNumber })).rejects.toThrow(
      `Cannot settle as refunded: the gateway has released ${AMOUNT_PAISE} paise of the payment to the merchant`,
    );
    await setOnHold(true);
    const { order: after } = await settle(service, { orderNumber, reference: 'UTR on hold' });
    expect(after.status).toBe('REFUNDED');
  });

  test('with a bank transfer of money that the gateway moves the same way', async ({
    service,
    orders,
  }) => {
    const { order, end } = await refundingOrder(service, orders);
    const { orderNumber } = order;
    await expect(settle(service, { orderNumber, reference: 'UTR twice' })).rejects.toThrow(
      `so with the bank transfer of ${AMOUNT_PAISE} more is paid than the ${AMOUNT_PAISE} captured`,
    );
    // Without a reference nothing moved outside: the refund at the gateway is the one.
    expect((await settle(service, { orderNumber })).order.status).toBe('REFUNDED');
    await end('processed');
    expect((await compareWithGateway(service.deps)).faults).not.toContainEqual(
      expect.objectContaining({ orderNumber }),
    );
  });

  test('if the money of the payment changes after it was compared', async ({ service, orders }) => {
    const { order, orderNumber } = await unrefundedOrder(service, orders);
    const checked = {
      outcome: 'refunded',
      reference: null,
      reason: 'R',
      isChecked: true,
      restPaise: AMOUNT_PAISE,
      refundedPaise: 0,
      chargedBackPaise: PART_PAISE,
    } as const;
    const write = (settlement: NewSettlement) =>
      writeSettlement(service.sql, { actor: TEST_ACTOR }, orderNumber, settlement);
    expect(await write(checked)).toBe('changed');
    expect(await settlementOf(service, order)).toBeUndefined();
    expect(await write({ ...checked, chargedBackPaise: 0 })).toBe('recorded');
    expect(await write(checked)).toBe('settled');
    expect((await settle(service, { orderNumber })).order.status).toBe('REFUNDED');
  });

  test('while another process moves the money', async ({ service, orders }) => {
    const { order, orderNumber } = await unrefundedOrder(service, orders);
    const settlement = { orderNumber, reference: 'UTR lease', reason: 'R' };
    const deps = { ...service.deps, actor: TEST_ACTOR };
    await withMoneyLease(service.sql, atRazorpay(await order.paymentId()), async () => {
      await expect(settleOutside(deps, settlement)).rejects.toMatchObject({
        code: 'INVALID_STATE',
        message: expect.stringMatching(/^Another process is moving .*: try again in a minute$/),
      });
    });
    expect(await settlementOf(service, order)).toBeUndefined();
    expect((await settleOutside(deps, settlement)).order.status).toBe('REFUNDED');
  });
});

test('if the gateway cannot be read, the operator confirms that, and it is recorded as not checked', async ({
  service,
  merchant,
  orders,
  gateway,
  cli,
}) => {
  const { order } = await unrefundedOrder(service, orders);
  await gateway.addFault({ kind: 'error', method: 'GET' });
  const command = ['order', 'settle', '--order', order.orderNumber, '--reference', 'UTR unread'];
  expect(await cli.alone.refusal(...command, '--reason', 'R')).toMatch(
    /^The refunds and transfers of the payment cannot be read \(.*\): .*confirm "not checked"$/,
  );
  expect(await settlementOf(service, order)).toBeUndefined();
  expect(await cli.alone.json(...command, '--reason', 'R', '--not-checked')).toMatchObject({
    status: 'REFUNDED',
  });
  expect(await settlementOf(service, order)).toEqual({ outcome: 'refunded', isChecked: false });
  const audit = (await auditOf(service.sql, merchant.merchantId)).find(
    ({ subject, action }) => subject === order.orderNumber && action === 'order.settle',
  );
  expect(audit?.details).toEqual({
    commandId: `settle:${order.orderNumber}`,
    outcome: 'refunded',
    reference: 'UTR unread',
    reason: 'R',
    gateway: 'not checked',
  });
  const shown = await cli.run('order', 'show', '--order', order.orderNumber);
  expect(shown.stdout).toContain('not checked at the gateway');
});

test('a reference belongs to one order, and a repeat notifies that order again', async ({
  service,
  orders,
}) => {
  const { order: first } = await unrefundedOrder(service, orders);
  const { order: second } = await unrefundedOrder(service, orders);
  const isSecondHeld = async () => (await second.made('transfers')).some(({ on_hold }) => on_hold);
  const settled = (order: DirectOrder, reference: string) =>
    settle(service, { orderNumber: order.orderNumber, reference });
  expect((await settled(first, 'UTR one')).order.status).toBe('REFUNDED');
  expect((await settled(first, ' UTR one ')).order.status).toBe('REFUNDED');
  await expect(settled(second, 'UTR one')).rejects.toMatchObject({
    code: 'INVALID_STATE',
    message: 'Another order is settled with the reference UTR one',
  });
  expect(await settlementOf(service, second)).toBeUndefined();
  expect(await isSecondHeld()).toBe(true);
  expect((await settled(second, 'UTR two')).order.status).toBe('REFUNDED');
});

describe('the comparison with the gateway finds a movement after the settlement', () => {
  const faultsOf = async (service: TestService, { orderNumber }: DirectOrder) =>
    (await compareWithGateway(service.deps)).faults
      .filter((fault) => fault.orderNumber === orderNumber)
      .map(({ fault }) => fault);

  test('a refund of an order that was settled as released', async ({ service, orders }) => {
    const { order, orderNumber, allowRefunds } = await unrefundedOrder(service, orders);
    await settle(service, { orderNumber, outcome: 'released', reference: 'UTR released' });
    // The bank has paid the merchant, so what was on hold is the platform's.
    expect(await order.made('transfers')).toMatchObject([{ status: 'reversed' }]);
    expect(await faultsOf(service, order)).toEqual([]);
    await allowRefunds();
    await simulator(service, 'PATCH', '/callbacks', { dropProbability: 1 });
    await order.refundInDashboard(PART_PAISE);
    await simulator(service, 'PATCH', '/callbacks', { dropProbability: 0 });
    expect(await faultsOf(service, order)).toEqual([
      `settled as released, but ${PART_PAISE} paise of the payment were refunded or charged back at the gateway, or may be`,
    ]);
    await alertOnDifferences(service.deps);
    expect(
      await service.sql`
        SELECT kind FROM alerts WHERE cleared_at IS NULL
          AND subject = ${`razorpay:${await order.paymentId()}`}`,
    ).toEqual([{ kind: 'gateway_differs' }]);
  });

  test('a hold that nobody lifts after the order was settled as released', async ({
    service,
    orders,
  }) => {
    const { order, orderNumber, setOnHold } = await unrefundedOrder(service, orders);
    await settle(service, { orderNumber, outcome: 'released' });
    expect(await faultsOf(service, order)).toEqual([
      `settled as released, but ${AMOUNT_PAISE} paise are on hold for the merchant`,
      `settled as released, but ${AMOUNT_PAISE} paise have not moved, here or by bank`,
    ]);
    await setOnHold(false);
    expect(await faultsOf(service, order)).toEqual([]);
  });

  test('a refund that fails after its order was settled as refunded', async ({
    service,
    orders,
  }) => {
    const { order, end } = await refundingOrder(service, orders);
    await settle(service, { orderNumber: order.orderNumber });
    expect(await faultsOf(service, order)).toEqual([]);
    await end('failed');
    expect(await faultsOf(service, order)).toEqual([
      `settled as refunded, but ${AMOUNT_PAISE} paise have not moved, here or by bank`,
    ]);
  });

  test('a release of an order that was settled as refunded', async ({ service, orders }) => {
    const { order, orderNumber, payOut } = await unrefundedOrder(service, orders);
    await settle(service, { orderNumber, reference: 'UTR refunded' });
    expect(await faultsOf(service, order)).toEqual([]);
    await payOut();
    expect(await faultsOf(service, order)).toEqual([
      `settled as refunded, but the gateway has released ${AMOUNT_PAISE} paise of the payment to the merchant`,
    ]);
  });
});
