import { randomUUID } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import { jsonRow } from '../../src/db/client.ts';
import type { Environment } from '../../src/domain/index.ts';
import type { LineType } from '../../src/ledger/statement.ts';
import { sealLedgerLines } from '../../src/ledger/seal-ledger.ts';
import { writeCapture } from '../../src/payments/captures/capture-queries.ts';
import {
  bookRefundFailed,
  finishRefundAgain,
  claimSurplus,
  finishSurplus,
} from '../../src/payments/funds/refund-queries.ts';
import { bookMovement } from '../../src/payments/funds/funds-queries.ts';
import { writeReversal } from '../../src/payments/reversals/reversal-queries.ts';
import { HOUR_MS, pick, random, writePastOrders } from '../dashboard/past-orders.ts';
import { inParallel } from '../support/in-parallel.ts';
import type { TestService } from '../support/service.ts';

const DAY_MS = 24 * HOUR_MS;
const GATEWAY = 'razorpay';

/** The moments of a day, from its first to its last millisecond. */
const MOMENTS_MS = [0, 1, 5 * HOUR_MS, 11 * HOUR_MS, 18 * HOUR_MS, DAY_MS - 1];

/** A movement of a merchant's money, as the gateway made it. */
export interface Movement {
  merchantId: string;
  environment: Environment;
  /** In Indian time. */
  day: string;
  type: LineType;
  amountPaise: number;
  balanceChangePaise: number;
  gatewayPaymentId: string;
  /** The id of the transfer, refund or chargeback; null for the payment itself. */
  movementId: string | null;
}

interface RandomOrder {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  amountPaise: number;
  paymentId: string;
  stepNumber: number;
}

/** What happens to an order's money at one moment. @param atMs the time of the step */
type Event = (sql: Sql, order: RandomOrder, atMs: number) => Promise<Omit<Movement, OfOrder>[]>;
type OfOrder = 'merchantId' | 'environment' | 'day' | 'gatewayPaymentId';

const newId = (prefix: string) => `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 14)}`;
const refOf = ({ paymentId }: RandomOrder, gatewayPaymentId = paymentId) => ({
  gateway: GATEWAY,
  gatewayPaymentId,
});

const utrOf = (gatewayPaymentId: string) => `utr_${gatewayPaymentId}`;

async function recordStep(
  sql: Sql,
  order: RandomOrder,
  step: { kind: string; atMs: number; columns: object; movement: string; commandId?: string },
): Promise<void> {
  order.stepNumber += 1;
  const at = new Date(step.atMs).toISOString();
  const { kind, atMs, movement, commandId = null } = step;
  const columns = { stepNumber: order.stepNumber, updatedAt: at, ...step.columns };
  const gateway = movement === 'capture' ? GATEWAY : null;
  const [row] = await sql<[{ outcome: string }]>`
    SELECT record_step(${order.orderNumber}, ${sql.json({ number: order.stepNumber, kind, atMs })}, ${commandId}, NULL, '{}', NULL,
      ${jsonRow(sql, columns)}, NULL, ${gateway}, ${movement}, '{}', NULL, NULL, NULL)->>'outcome' AS outcome`;
  if (row.outcome !== 'recorded') throw new Error(`${kind} is ${row.outcome}`);
}

async function capture(sql: Sql, order: RandomOrder, gatewayPaymentId: string): Promise<void> {
  const { orderNumber, environment, amountPaise } = order;
  const payment = {
    gatewayPaymentId,
    status: 'captured',
    currency: 'INR',
    amountPaise,
    refundedPaise: 0,
    orderNumber,
    sessionId: null,
    utr: utrOf(gatewayPaymentId),
    feePaise: Math.ceil(amountPaise / 50),
    failure: null,
  } as const;
  await writeCapture(sql, { at: { gateway: GATEWAY, environment }, payment });
}

const pay: Event = async (sql, order, atMs) => {
  await capture(sql, order, order.paymentId);
  const at = new Date(atMs).toISOString();
  await recordStep(sql, order, {
    kind: 'PAYMENT_SUCCESS',
    atMs,
    columns: {
      status: 'PAID',
      gatewayPaymentId: order.paymentId,
      paymentUtr: utrOf(order.paymentId),
      paidAt: at,
    },
    movement: 'capture',
  });
  const { amountPaise } = order;
  return [{ type: 'paid', amountPaise, balanceChangePaise: amountPaise, movementId: null }];
};

const release: Event = async (sql, order, atMs) => {
  const gatewayTransferId = newId('trf');
  await bookMovement(sql, refOf(order), 'release', {
    movementId: gatewayTransferId,
    amountPaise: order.amountPaise,
  });
  await recordStep(sql, order, {
    kind: 'ORDER_COMPLETED',
    atMs,
    columns: { status: 'COMPLETED' },
    movement: 'release',
  });
  return out('released', order.amountPaise, gatewayTransferId);
};

const refund: Event = async (sql, order, atMs) => {
  const gatewayRefundId = newId('rfnd');
  await bookMovement(sql, refOf(order), 'refund', {
    movementId: gatewayRefundId,
    amountPaise: order.amountPaise,
  });
  const at = new Date(atMs).toISOString();
  const { amountPaise } = order;
  await recordStep(sql, order, {
    kind: 'REFUND_PROCESSED',
    atMs,
    columns: { status: 'REFUNDED', refundAmountPaise: amountPaise, refundProcessedAt: at },
    movement: 'refund',
  });
  return out('refunded', amountPaise, gatewayRefundId);
};

/** The bank rejects the refund, which is booked back. */
const failRefund: Event = async (sql, order) => {
  const [{ id }] = await sql<[{ id: string }]>`
    SELECT gateway_refund_id AS id FROM payments WHERE gateway_payment_id = ${order.paymentId}`;
  await bookRefundFailed(sql, refOf(order));
  const { amountPaise } = order;
  return [{ type: 'refund_failed', amountPaise, balanceChangePaise: amountPaise, movementId: id }];
};

const refundAgain: Event = async (sql, order) => {
  const gatewayRefundId = newId('rfnd');
  await bookMovement(sql, refOf(order), 'refund', {
    movementId: gatewayRefundId,
    amountPaise: order.amountPaise,
  });
  await finishRefundAgain(sql, order.orderNumber);
  return out('refunded', order.amountPaise, gatewayRefundId);
};

const out = (type: LineType, amountPaise: number, movementId: string | null) => [
  { type, amountPaise, balanceChangePaise: -amountPaise, movementId },
];

/** A refund or chargeback at the gateway itself. @param change what it takes of the held money */
const reverse =
  (kind: 'refund' | 'chargeback', share: (amountPaise: number) => number, isHeld: boolean): Event =>
  async (sql, order) => {
    const reversalId = newId(kind === 'refund' ? 'rfnd' : 'disp');
    const amountPaise = share(order.amountPaise);
    const state = kind === 'refund' ? 'processed' : 'lost';
    const reversal = { reversalId, gatewayPaymentId: order.paymentId, kind, amountPaise, state };
    const owner = { gateway: GATEWAY, environment: order.environment };
    // What is told twice is booked once.
    for (const source of ['callback', 'gateway'] as const) {
      await writeReversal(sql, owner, { ...reversal, kind, state }, source);
    }
    const type = kind === 'refund' ? 'reversed' : 'charged_back';
    const balanceChangePaise = isHeld ? -amountPaise : 0;
    return [{ type, amountPaise, balanceChangePaise, movementId: reversalId }];
  };

/** A second payment, which the order cannot take: no merchant's money. */
const surplus: Event = async (sql, order) => {
  const second = refOf(order, newId('pay'));
  await capture(sql, order, second.gatewayPaymentId);
  await claimSurplus(sql, second);
  await bookMovement(sql, second, 'refund', {
    movementId: newId('rfnd'),
    amountPaise: order.amountPaise,
  });
  await finishSurplus(sql, second);
  return [];
};

async function reversalOf(sql: Sql, { paymentId }: RandomOrder) {
  const [row] = await sql<[{ movementId: string; amountPaise: number }]>`
    SELECT reversal_id AS movement_id, amount_paise FROM gateway_reversals
    WHERE gateway_payment_id = ${paymentId}`;
  return row;
}

/** The bank processes a refund of the whole payment after a chargeback was lost, which the platform pays then. */
const refundCovered: Event = async (sql, order, atMs) => {
  const chargeback = await reversalOf(sql, order);
  const refunded = await refund(sql, order, atMs);
  return [
    { type: 'covered', ...chargeback, balanceChangePaise: chargeback.amountPaise },
    ...refunded,
  ];
};

/** Then the bank rejects that refund. */
const failCovered: Event = async (sql, order, atMs) => {
  const failed = await failRefund(sql, order, atMs);
  const chargeback = await reversalOf(sql, order);
  return [
    ...failed,
    { type: 'charged_back', ...chargeback, balanceChangePaise: -chargeback.amountPaise },
  ];
};

/** The gateway makes the transfer, which had begun before the reversal. */
const releaseCovered =
  (type: 'reversed' | 'charged_back'): Event =>
  async (sql, order, atMs) => {
    const reversal = await reversalOf(sql, order);
    const released = await release(sql, order, atMs);
    return [
      { type: 'covered', ...reversal, balanceChangePaise: reversal.amountPaise },
      ...released,
      { type, ...reversal, balanceChangePaise: 0 },
    ];
  };

/** The step of an operator's settlement is written again after a restore, which has lost the settlement. */
const releaseSettled: Event = async (sql, order, atMs) => {
  const step = { kind: 'ORDER_COMPLETED', columns: { status: 'COMPLETED' }, movement: 'release' };
  await recordStep(sql, order, { ...step, atMs, commandId: `settle:${order.orderNumber}` });
  const [left] = await sql<[{ paise: number }]>`
    SELECT o.amount_paise - o.reversed_paise AS paise FROM orders o WHERE order_number = ${order.orderNumber}`;
  return out('released', left.paise, null);
};

const whole = (amountPaise: number) => amountPaise;
const part = (amountPaise: number) => Math.floor(amountPaise / 3);

/** What can become of an order's money. */
const STORIES: readonly (readonly Event[])[] = [
  [],
  [pay],
  [pay, release],
  [pay, release],
  [pay, release],
  [pay, surplus, release],
  [pay, refund],
  [pay, refund, failRefund, refundAgain],
  [pay, reverse('refund', whole, true)],
  [pay, reverse('refund', part, true), releaseCovered('reversed')],
  [pay, reverse('refund', part, true), releaseSettled],
  [pay, reverse('chargeback', whole, true)],
  [pay, reverse('chargeback', whole, true), releaseCovered('charged_back')],
  [pay, reverse('chargeback', whole, true), refundCovered, failCovered],
  [pay, reverse('chargeback', part, true), refundCovered],
  [pay, release, reverse('chargeback', whole, false)],
  [pay, release, reverse('refund', part, false)],
];

/** The orders, without their steps. */
async function writeOrders(
  sql: Sql,
  merchantIds: readonly string[],
  count: number,
): Promise<RandomOrder[]> {
  for (const merchantId of merchantIds) {
    const orders = Array.from({ length: Math.ceil(count / merchantIds.length) }, () => ({
      status: 'ACCEPTED' as const,
      environment: pick(['sandbox', 'production'] as const),
      amountPaise: 500 + Math.floor(random() * 999_500),
      merchantOrderId: random() < 0.5 ? newId('shop') : null,
      createdAt: new Date(),
    }));
    await writePastOrders(sql, merchantId, orders);
  }
  return ordersOf(sql, merchantIds);
}

async function ordersOf(sql: Sql, merchantIds: readonly string[]): Promise<RandomOrder[]> {
  const rows = await sql<Omit<RandomOrder, 'paymentId' | 'stepNumber'>[]>`
    SELECT order_number, merchant_id, environment, amount_paise FROM orders
    WHERE merchant_id = ANY (${[...merchantIds]}) AND status = 'ACCEPTED'`;
  return rows.map((order) => ({ ...order, paymentId: newId('pay'), stepNumber: 1 }));
}

/** Writes a paid order of the sandbox, as if the database's clock showed this moment. */
export async function payOnce(
  { sql, clock }: TestService,
  merchantId: string,
  at: Date,
  connection: Sql = sql,
): Promise<{ orderNumber: string; amountPaise: number }> {
  await clock.stopAt(at);
  const known = await ordersOf(sql, [merchantId]);
  await writePastOrders(sql, merchantId, [{ status: 'ACCEPTED', createdAt: at }]);
  const isNew = ({ orderNumber }: RandomOrder) =>
    known.every((other) => other.orderNumber !== orderNumber);
  const order = (await ordersOf(sql, [merchantId])).find(isNew)!;
  await pay(connection, order, at.getTime());
  await clock.set(0);
  return order;
}

/**
 * Writes random orders of the merchants with what became of their money over some days, through the SQL
 * functions of the service: each at a moment of the database's clock, many of them late. Now and then the
 * Schedule seals. Afterwards the clock is the real one.
 *
 * @param first the first day, in Indian time
 * @returns what the gateway has made, which is noted before anything is read back
 */
export async function writeRandomMoney(
  { sql, clock }: TestService,
  merchantIds: readonly string[],
  { count, first, days }: { count: number; first: string; days: number },
): Promise<Movement[]> {
  const orders = await writeOrders(sql, merchantIds, count);
  const momentCount = days * MOMENTS_MS.length;
  const queue = orders.flatMap((order) => {
    const story = pick(STORIES);
    const moments = story.map(() => Math.floor(random() * momentCount)).toSorted((a, b) => a - b);
    return story.map((event, index) => ({ order, event, moment: moments[index] ?? 0 }));
  });
  const movements: Movement[] = [];
  for (let moment = 0; moment < momentCount; moment += 1) {
    const dayNumber = Math.floor(moment / MOMENTS_MS.length);
    const ofDayMs = MOMENTS_MS[moment % MOMENTS_MS.length] ?? 0;
    const nowMs = Date.parse(`${first}T00:00:00+05:30`) + dayNumber * DAY_MS + ofDayMs;
    const day = new Date(Date.parse(first) + dayNumber * DAY_MS).toISOString().slice(0, 10);
    await clock.stopAt(new Date(nowMs));
    const due = Map.groupBy(
      queue.filter((one) => one.moment === moment),
      ({ order }) => order,
    );
    await inParallel([...due], 8, async ([order, events]) => {
      const { merchantId, environment, paymentId: gatewayPaymentId } = order;
      for (const { event } of events) {
        const lateMs = random() < 0.3 ? Math.floor(random() * 3 * DAY_MS) : 0;
        const made = await event(sql, order, nowMs - lateMs);
        const ofOrder = { merchantId, environment, day, gatewayPaymentId };
        movements.push(...made.map((movement) => ({ ...movement, ...ofOrder })));
      }
    });
    if (random() < 0.5) await sealLedgerLines(sql);
  }
  await clock.set(0);
  return movements;
}
