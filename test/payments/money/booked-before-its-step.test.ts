import type { WorkerOptions } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../../src/domain/index.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { releaseFunds } from '../../../src/payments/funds/funds.ts';
import { refundOrder, refundSurplus } from '../../../src/payments/funds/refunds.ts';
import type { Reversal } from '../../../src/payments/reversals/reversal-queries.ts';
import { writeReversal } from '../../../src/payments/reversals/reversal-queries.ts';
import { settleOutside } from '../../../src/payments/settlement/settle-outside.ts';
import {
  findSettlementFigures,
  writeSettlement,
} from '../../../src/payments/settlement/settlement-queries.ts';
import { TEST_ACTOR } from '../../support/actor.ts';
import { atRazorpay, SANDBOX, setSwitches, simulator } from '../../support/gateway.ts';
import type { DirectOrder } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const AMOUNT_PAISE = 49_950;
const DAY_SECONDS = 24 * 3600;
const NO_WORKFLOWS = { workflowBundle: undefined } as unknown as Partial<WorkerOptions>;

interface Movement {
  begin: (order: DirectOrder) => Promise<unknown>;
  /** The last part of the path of the call that moves the money. */
  call: string;
  repeat: typeof releaseFunds;
  line: string;
  /** The line of a chargeback that is lost afterwards. */
  lost: string;
  ends: OrderStatus;
  outcome: 'released' | 'refunded';
}
const RELEASE: Movement = {
  begin: (order) => order.update('advance', { seconds: DAY_SECONDS }),
  call: 'transfers',
  repeat: releaseFunds,
  line: `release: merchant_held → merchant_available ${AMOUNT_PAISE}`,
  lost: `reversal: merchant_available → refunds ${AMOUNT_PAISE}`,
  ends: 'COMPLETED',
  outcome: 'released',
};
const REFUND: Movement = {
  begin: (order) => order.update('refund'),
  call: 'refund',
  repeat: (deps, orderNumber) => refundOrder(deps, orderNumber, 'requested_by_merchant'),
  line: `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
  lost: `loss: platform_losses → refunds ${AMOUNT_PAISE}`,
  ends: 'REFUNDED',
  outcome: 'refunded',
};
const BOTH = [
  ['release', RELEASE],
  ['refund', REFUND],
] as const;
const FAILED = `refund_failed: refunds → merchant_held ${AMOUNT_PAISE}`;

/** The file's `worker` decides and records; another one moves the money. */
const test = serviceTest({
  time: 'real',
  callbacks: false,
  merchant: { webhooks: false },
  // It caches nothing, so that it continues after a stop.
  worker: { options: { enableNonLocalActivities: false, maxCachedWorkflows: 0 } },
})
  .extend('movingWorker', { scope: 'file' }, async ({ service }, { onCleanup }) => {
    const moving = await service.startWorker({}, NO_WORKFLOWS);
    onCleanup(() => moving.stop());
    return moving;
  })
  /** An order whose money the gateway has moved and the ledger has booked; the step is recorded after `end`. */
  .extend(
    'bookedOrder',
    ({ service, worker, orders, gateway }, { onCleanup }) =>
      async ({ begin, call, ends, line }: Movement) => {
        onCleanup(() => worker.start());
        const order = await orders.in('DELIVERED');
        const path = `/v1/payments/${await order.paymentId()}/${call}`;
        const { hits, endFault } = await gateway.addFault({ kind: 'held', method: 'POST', path });
        await begin(order);
        await until(async () => (await hits()) === 1);
        await worker.stop();
        await endFault();
        await until(async () => (await linesOf(order)).length === 1);
        expect(await linesOf(order)).toEqual([line]);
        expect(await order.row()).toMatchObject({
          status: 'DELIVERED',
          stepNumber: ends === 'COMPLETED' ? 5 : 4,
        });
        await expectSound(service);
        return {
          order,
          payment: atRazorpay(await order.paymentId()),
          async end() {
            await expectSound(service);
            await worker.start();
            await order.handle.result();
            expect((await order.row()).status).toBe(ends);
            await expectSound(service);
          },
        };
      },
  );
test.beforeAll(({ movingWorker }) => void movingWorker);

/** The lines after that of the capture. */
const linesOf = async (order: DirectOrder) => (await order.ledgerLines()).slice(1);

async function expectSound({ sql }: TestService) {
  expect((await verifyLedger(sql)).faults).toEqual([]);
}

/** A chargeback of the whole payment, as the gateway reports it. */
const chargeBack = ({ sql }: TestService, gatewayPaymentId: string, state: Reversal['state']) =>
  writeReversal(
    sql,
    SANDBOX,
    {
      reversalId: `disp_${randomUUID()}`,
      gatewayPaymentId,
      kind: 'chargeback',
      amountPaise: AMOUNT_PAISE,
      state,
    },
    'gateway',
  );

/** The bank returns the latest refund, and the service learns of it. */
async function failRefund(service: TestService, order: DirectOrder) {
  const [refund] = await order.made('refunds');
  await simulator(service, 'POST', `/refunds/${refund!.id}/end`, { status: 'failed' });
  return refundSurplus(service.deps, atRazorpay(await order.paymentId()));
}

const settle = (
  { deps }: TestService,
  { orderNumber }: DirectOrder,
  outcome: Movement['outcome'],
) =>
  settleOutside(
    { ...deps, actor: TEST_ACTOR },
    { orderNumber, outcome, reference: `UTR-${orderNumber}`, reason: 'The bank says so' },
  );

/** The last statement of a settlement that was checked before. */
async function writeSettled(
  { sql }: TestService,
  order: DirectOrder,
  outcome: Movement['outcome'],
) {
  const figures = await findSettlementFigures(sql, atRazorpay(await order.paymentId()));
  const settlement = { outcome, reference: null, reason: 'A test', isChecked: true };
  return writeSettlement(sql, { actor: TEST_ACTOR }, order.orderNumber, {
    ...figures,
    ...settlement,
  });
}

describe.for(BOTH)('between a %s at the gateway and its step', ([, movement]) => {
  test('a lost chargeback is taken from where the money is', async ({ service, bookedOrder }) => {
    const { order, payment, end } = await bookedOrder(movement);
    await chargeBack(service, payment.gatewayPaymentId, 'lost');
    expect(await linesOf(order)).toEqual([movement.line, movement.lost]);
    await end();
    expect(await linesOf(order)).toEqual([movement.line, movement.lost]);
  });

  test('a settlement outside is refused', async ({ service, bookedOrder }) => {
    const { order, end } = await bookedOrder(movement);
    await expect(settle(service, order, movement.outcome)).rejects.toThrow('Cannot settle');
    expect(await writeSettled(service, order, movement.outcome)).toBe('refused');
    await end();
    expect(await linesOf(order)).toEqual([movement.line]);
  });

  test('the activity that is repeated says the same, asks no gateway and books nothing', async ({
    service,
    gateway,
    bookedOrder,
  }) => {
    const { order, payment, end } = await bookedOrder(movement);
    // It would block a release that has not been made.
    await chargeBack(service, payment.gatewayPaymentId, 'open');
    const { endFault, hits } = await gateway.addFault({ kind: 'error' });
    expect(await movement.repeat(service.deps, order.orderNumber)).toEqual({ outcome: 'moved' });
    expect(await hits()).toBe(0);
    await endFault();
    await end();
    expect(await linesOf(order)).toEqual([movement.line]);
    const made = await order.made(movement === RELEASE ? 'transfers' : 'refunds');
    expect(made).toHaveLength(1);
  });
});

test('a refund that fails before its step is made again at once', async ({
  service,
  bookedOrder,
}) => {
  const { order, end } = await bookedOrder(REFUND);
  await failRefund(service, order);
  expect(await linesOf(order)).toEqual([REFUND.line, FAILED, REFUND.line]);
  await end();
  expect(await linesOf(order)).toEqual([REFUND.line, FAILED, REFUND.line]);
  expect((await order.row()).refundProcessedAt).not.toBeNull();
});

test('a refund that fails before its step, and is refused then, is made again after the step', async ({
  service,
  bookedOrder,
}) => {
  const { order, payment, end } = await bookedOrder(REFUND);
  await setSwitches(service, payment.gatewayPaymentId, { refundsRefused: true });
  await expect(failRefund(service, order)).rejects.toThrow();
  await end();
  expect(await linesOf(order)).toEqual([REFUND.line, FAILED]);
  expect((await order.row()).refundProcessedAt).toBeNull();
  const [event] = await service.sql<[{ refund: unknown }]>`
    SELECT body::jsonb->'data'->'refund' AS refund FROM order_events
    WHERE order_number = ${order.orderNumber} AND type = 'REFUND_PROCESSED'`;
  expect(event.refund).toMatchObject({ processed_at: null });
  await setSwitches(service, payment.gatewayPaymentId, { refundsRefused: null });
  await refundSurplus(service.deps, payment);
  expect(await linesOf(order)).toEqual([REFUND.line, FAILED, REFUND.line]);
  expect((await order.row()).refundProcessedAt).not.toBeNull();
  await expectSound(service);
});

test('a refund that fails before its step can only be settled as refunded, which books it once', async ({
  service,
  bookedOrder,
}) => {
  const { order, payment, end } = await bookedOrder(REFUND);
  await setSwitches(service, payment.gatewayPaymentId, { refundsRefused: true });
  await expect(failRefund(service, order)).rejects.toThrow();
  await expect(settle(service, order, 'released')).rejects.toThrow('Cannot settle');
  expect(await writeSettled(service, order, 'released')).toBe('refused');
  expect(await writeSettled(service, order, 'refunded')).toBe('recorded');
  // The refund is not made any more.
  await refundSurplus(service.deps, payment);
  await end();
  expect(await linesOf(order)).toEqual([REFUND.line, FAILED, REFUND.line]);
  expect((await order.row()).refundProcessedAt).not.toBeNull();
  await setSwitches(service, payment.gatewayPaymentId, { refundsRefused: null });
});

test('of a refund that fails before its step, nothing is left when the chargeback is lost then', async ({
  service,
  bookedOrder,
}) => {
  const { order, payment, end } = await bookedOrder(REFUND);
  await setSwitches(service, payment.gatewayPaymentId, { refundsRefused: true });
  await expect(failRefund(service, order)).rejects.toThrow();
  await chargeBack(service, payment.gatewayPaymentId, 'lost');
  await refundSurplus(service.deps, payment);
  await end();
  const reversed = `reversal: merchant_held → refunds ${AMOUNT_PAISE}`;
  expect(await linesOf(order)).toEqual([REFUND.line, FAILED, reversed]);
  expect((await order.row()).refundProcessedAt).not.toBeNull();
});
