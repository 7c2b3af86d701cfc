import { describe, expect } from 'vitest';
import type { Sql } from '../../../src/db/client.ts';
import { databaseTime } from '../../../src/db/client.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { writeCapture } from '../../../src/payments/captures/capture-queries.ts';
import { refuseCommand, writeDispute } from '../../../src/orders/commands/command-queries.ts';
import {
  bookRefundFailed,
  claimSurplus,
  finishSurplus,
} from '../../../src/payments/funds/refund-queries.ts';
import { bookMovement } from '../../../src/payments/funds/funds-queries.ts';
import type { Reversal } from '../../../src/payments/reversals/reversal-queries.ts';
import {
  bookRestoredReversals,
  writeReversal,
} from '../../../src/payments/reversals/reversal-queries.ts';
import {
  findSettlementFigures,
  writeSettlement,
} from '../../../src/payments/settlement/settlement-queries.ts';
import { A_BUYER, TEST_ACTOR } from '../../support/actor.ts';
import { installTestClock } from '../../support/database.ts';
import { databaseTest } from '../../support/fixtures.ts';
import { SANDBOX } from '../../support/gateway.ts';
import { untilBlocked } from '../../support/locks.ts';
import type { RacedOrder as Order } from './raced-order.ts';
import { AMOUNT_PAISE, deliveredOrder, RELEASED_AFTER_MS } from './raced-order.ts';

const PART_PAISE = 100;

const test = databaseTest()
  .extend('clock', { scope: 'file' }, ({ database }) => installTestClock(database))
  .extend('order', ({ database }) => deliveredOrder(database.serviceSql));

type Clock = Awaited<ReturnType<typeof installTestClock>>;
/** @returns the outcome, in a word */
type Write = (sql: Sql, order: Order, clock: Clock) => Promise<unknown>;

const dispute: Write = async (sql, { orderNumber }, clock) => {
  await clock.set(0);
  const commandId = `dispute:${orderNumber}`;
  const { outcome } = await writeDispute(sql, orderNumber, {
    commandId,
    reason: 'It never arrived',
    actor: A_BUYER,
  });
  return outcome;
};

const reversal =
  (
    reported: Pick<Reversal, 'kind' | 'state'>,
    amountPaise: number,
    of: 'payment' | 'surplus',
  ): Write =>
  async (sql, order) => {
    const { gatewayPaymentId } = order[of];
    const reversalId = `reversal_${gatewayPaymentId}`;
    const made = { reversalId, gatewayPaymentId, amountPaise, ...reported };
    return (await writeReversal(sql, SANDBOX, made, 'gateway')).outcome;
  };
const refundOfPart = reversal({ kind: 'refund', state: 'processed' }, PART_PAISE, 'payment');
const chargeback = (state: 'open' | 'lost', of: 'payment' | 'surplus') =>
  reversal({ kind: 'chargeback', state }, AMOUNT_PAISE, of);

const claim: Write = async (sql, { surplus }) =>
  (await claimSurplus(sql, surplus)) ? 'written' : 'not surplus';
const finish: Write = async (sql, { surplus }) => {
  await finishSurplus(sql, surplus);
  return 'written';
};

const releaseStarted: Write = async (sql, order, clock) => {
  await clock.set(RELEASED_AFTER_MS);
  return order.record(sql, { type: 'expire' }, order.releaseAtMs);
};
/** The gateway has released the money. */
const releaseBooked: Write = async (sql, { payment }) => {
  const movementId = `trf_${payment.gatewayPaymentId}`;
  await bookMovement(sql, payment, 'release', { movementId, amountPaise: AMOUNT_PAISE });
  return 'written';
};
const settleReleased: Write = async (sql, { orderNumber, payment }) => {
  const figures = await findSettlementFigures(sql, payment);
  const settlement = {
    outcome: 'released',
    reference: null,
    reason: 'A test',
    isChecked: true,
  } as const;
  return writeSettlement(sql, { actor: TEST_ACTOR }, orderNumber, { ...figures, ...settlement });
};
const orderCompleted: Write = (sql, order) =>
  order.record(sql, { type: 'released' }, order.releaseAtMs);

const STARTED = { status: 'DELIVERED', doing: 'releasing', stepNumber: 4, hasDispute: false };
const WAITS = { status: 'DELIVERED', doing: null, stepNumber: 3 };
const COMPLETED = { status: 'COMPLETED', doing: null, stepNumber: 5 };
const RELEASED = `release: merchant_held → merchant_available ${AMOUNT_PAISE}`;
const reversed = (from: string, paise = AMOUNT_PAISE) => `reversal: ${from} → refunds ${paise}`;
/** What was reversed before the end of a transfer is the merchant's debt. */
const reversedBefore = (paise = AMOUNT_PAISE) => [
  reversed('merchant_held', paise),
  `covered: platform_losses → merchant_held ${paise}`,
  RELEASED,
  `recovered: merchant_available → platform_losses ${paise}`,
];
const CLAIMED = `capture: gateway_clearing → surplus ${AMOUNT_PAISE}`;
const REFUNDED = `refund: surplus → refunds ${AMOUNT_PAISE}`;

const ended = (...lines: string[]) => ({ ...COMPLETED, lines });
const BOTH = ['recorded', 'recorded'] as const;

/** The outcomes of the first and of the second session, and the order afterwards. */
type After = [outcomes: readonly [unknown, unknown], order: object];
interface Race {
  /** What has happened before. */
  before?: Write[];
  one: Write;
  other: Write;
  oneFirst: After;
  otherFirst: After;
}

const RACES: Record<string, Race> = {
  'a dispute and the release': {
    one: dispute,
    other: releaseStarted,
    oneFirst: [['recorded', 'disputed'], { ...WAITS, hasDispute: true }],
    otherFirst: [['recorded', 'not_taken'], STARTED],
  },
  'a refund at the gateway and the release': {
    one: refundOfPart,
    other: releaseStarted,
    oneFirst: [['recorded', 'release_waits'], { ...WAITS, reversedPaise: PART_PAISE }],
    otherFirst: [BOTH, { ...STARTED, reversedPaise: PART_PAISE }],
  },
  'a chargeback and the release': {
    one: chargeback('open', 'payment'),
    other: releaseStarted,
    oneFirst: [['recorded', 'release_waits'], WAITS],
    otherFirst: [BOTH, STARTED],
  },
  'the beginning of a surplus refund and the release': {
    one: claim,
    other: releaseStarted,
    oneFirst: [['written', 'recorded'], { ...STARTED, lines: [CLAIMED] }],
    otherFirst: [['recorded', 'written'], { ...STARTED, lines: [CLAIMED] }],
  },
  'a refund at the gateway and the end of the release': {
    before: [releaseStarted],
    one: refundOfPart,
    other: orderCompleted,
    oneFirst: [BOTH, ended(...reversedBefore(PART_PAISE))],
    otherFirst: [BOTH, ended(RELEASED, reversed('merchant_available', PART_PAISE))],
  },
  'a lost chargeback and the end of the release': {
    before: [releaseStarted],
    one: chargeback('lost', 'payment'),
    other: orderCompleted,
    oneFirst: [BOTH, ended(...reversedBefore())],
    otherFirst: [BOTH, ended(RELEASED, reversed('merchant_available'))],
  },
  'a refund at the gateway and the booking of the release': {
    before: [releaseStarted],
    one: refundOfPart,
    other: releaseBooked,
    oneFirst: [['recorded', 'written'], { ...STARTED, lines: reversedBefore(PART_PAISE) }],
    otherFirst: [
      ['written', 'recorded'],
      { ...STARTED, lines: [RELEASED, reversed('merchant_available', PART_PAISE)] },
    ],
  },
  'a lost chargeback and the booking of the release': {
    before: [releaseStarted],
    one: chargeback('lost', 'payment'),
    other: releaseBooked,
    oneFirst: [['recorded', 'written'], { ...STARTED, lines: reversedBefore() }],
    otherFirst: [
      ['written', 'recorded'],
      { ...STARTED, lines: [RELEASED, reversed('merchant_available')] },
    ],
  },
  'a settlement outside and the booking of the release': {
    before: [releaseStarted],
    one: settleReleased,
    other: releaseBooked,
    // The step of the settlement books it.
    oneFirst: [['recorded', 'written'], { ...STARTED, lines: null }],
    otherFirst: [['written', 'refused'], { ...STARTED, lines: [RELEASED] }],
  },
  'a lost chargeback and the end of a booked release': {
    before: [releaseStarted, releaseBooked],
    one: chargeback('lost', 'payment'),
    other: orderCompleted,
    oneFirst: [BOTH, ended(RELEASED, reversed('merchant_available'))],
    otherFirst: [BOTH, ended(RELEASED, reversed('merchant_available'))],
  },
  'two bookings of the same release': {
    before: [releaseStarted],
    one: releaseBooked,
    other: releaseBooked,
    oneFirst: [['written', 'written'], { ...STARTED, lines: [RELEASED] }],
    otherFirst: [['written', 'written'], { ...STARTED, lines: [RELEASED] }],
  },
  'the end of a surplus refund and the end of the release': {
    before: [claim, releaseStarted],
    one: finish,
    other: orderCompleted,
    oneFirst: [['written', 'recorded'], ended(CLAIMED, REFUNDED, RELEASED)],
    otherFirst: [['recorded', 'written'], ended(CLAIMED, RELEASED, REFUNDED)],
  },
  'the end of a surplus refund and a lost chargeback of the same capture': {
    before: [claim],
    one: finish,
    other: chargeback('lost', 'surplus'),
    oneFirst: [
      ['written', 'recorded'],
      { lines: [CLAIMED, REFUNDED, `loss: platform_losses → refunds ${AMOUNT_PAISE}`] },
    ],
    otherFirst: [['recorded', 'written'], { lines: [CLAIMED, reversed('surplus')] }],
  },
};

describe('two sessions write an order at the same time, and the second one sees what the first wrote', () => {
  test.for(
    Object.entries(RACES).flatMap(([what, { before = [], one, other, oneFirst, otherFirst }]) => [
      [what, 'in this order', before, one, other, oneFirst] as const,
      [what, 'in the other order', before, other, one, otherFirst] as const,
    ]),
  )(
    '%s, %s',
    async ([, , before, first, second, [outcomes, after]], { database, clock, order }) => {
      const { sql, serviceSql } = database;
      for (const write of before) await write(serviceSql, order, clock);
      const { written, waiting } = await serviceSql.begin(async (session) => {
        const outcome = await first(session as unknown as Sql, order, clock);
        const blocked = second(serviceSql, order, clock);
        blocked.catch(() => undefined);
        await untilBlocked({ sql }, '');
        return { written: outcome, waiting: blocked };
      });
      expect([written, await waiting]).toEqual(outcomes);
      expect(await order.read()).toMatchObject(after);
      // The surplus capture of each order has a line, too.
      await claim(serviceSql, order, clock);
      expect((await verifyLedger(sql)).faults).toEqual([]);
    },
  );
});

async function makeRefund(sql: Sql, surplus: Order['surplus']): Promise<void> {
  await claimSurplus(sql, surplus);
  await bookMovement(sql, surplus, 'refund', { movementId: 'rfnd_1', amountPaise: AMOUNT_PAISE });
  await finishSurplus(sql, surplus);
}

test('a process that was suspended until its refund had failed does not book it again', async ({
  database: { serviceSql: sql },
  order: { surplus, ...order },
}) => {
  await makeRefund(sql, surplus);
  await bookRefundFailed(sql, surplus);
  await expect(finishSurplus(sql, surplus)).rejects.toThrow('ledger_transfers_of_refund');
  const lines = [CLAIMED, REFUNDED, `refund_failed: refunds → surplus ${AMOUNT_PAISE}`];
  expect(await order.read()).toMatchObject({ lines });
});

test.for([
  ['refund', 'processed'],
  ['chargeback', 'lost'],
] as const)(
  'a %s that is recorded before a restored order has its payment again is booked, once, when it has its steps',
  async ([kind, state], { database: { sql, serviceSql } }) => {
    const order = await deliveredOrder(serviceSql, async (captured) => {
      const { gatewayPaymentId } = captured;
      const refunded = { ...captured, refundedPaise: PART_PAISE };
      await writeCapture(serviceSql, { at: SANDBOX, payment: refunded });
      const reversalId = `r_${gatewayPaymentId}`;
      const made = { reversalId, gatewayPaymentId, amountPaise: PART_PAISE };
      await writeReversal(serviceSql, SANDBOX, { ...made, kind, state }, 'gateway');
      await writeCapture(serviceSql, { at: SANDBOX, payment: captured, wasTaken: true });
    });
    await bookRestoredReversals(serviceSql, order.orderNumber);
    await bookRestoredReversals(serviceSql, order.orderNumber);
    const lines = [reversed('merchant_held', PART_PAISE)];
    expect(await order.read()).toMatchObject({ reversedPaise: PART_PAISE, lines });
    await claimSurplus(serviceSql, order.surplus);
    expect((await verifyLedger(sql)).faults).toEqual([]);
  },
);

test('what others refund while a refund is booked, which then fails, is not refunded again', async ({
  database: { serviceSql: sql },
  order: { surplus, ...order },
}) => {
  await makeRefund(sql, surplus);
  const { gatewayPaymentId } = surplus;
  const byOthers = { reversalId: 'rfnd_others', gatewayPaymentId, amountPaise: AMOUNT_PAISE };
  await writeReversal(sql, SANDBOX, { ...byOthers, kind: 'refund', state: 'processed' }, 'gateway');
  await bookRefundFailed(sql, surplus);
  expect((await claimSurplus(sql, surplus))?.leftPaise).toBe(0);
  await finishSurplus(sql, surplus);
  const failed = `refund_failed: refunds → surplus ${AMOUNT_PAISE}`;
  expect(await order.read()).toMatchObject({
    lines: [CLAIMED, REFUNDED, failed, reversed('surplus')],
  });
  expect((await verifyLedger(sql)).faults).toEqual([]);
});

test('a dispute that came after the window hides none that counts as received in it', async ({
  database: { sql, serviceSql },
  clock,
  order,
}) => {
  const { orderNumber } = order;
  const raise = (commandId: string) =>
    writeDispute(serviceSql, orderNumber, { commandId, reason: 'A test', actor: A_BUYER });
  await clock.set(RELEASED_AFTER_MS);
  await raise('dispute:late');
  // While the release cannot begin, the window does not end.
  await refundOfPart(serviceSql, order, clock);
  await raise('dispute:in_time');
  expect(await releaseStarted(serviceSql, order, clock)).toBe('disputed');
  const [row] =
    await sql`SELECT waiting_dispute_id FROM orders WHERE order_number = ${orderNumber}`;
  expect(row).toEqual({ waitingDisputeId: 'dispute:in_time' });
});

test('the late refusal of a try leaves a later one as it is', async ({
  database: { sql, serviceSql },
  clock,
  order,
}) => {
  const { orderNumber } = order;
  const ref = { orderNumber, commandId: `dispute:${orderNumber}` };
  await dispute(serviceSql, order, clock);
  expect(await refuseCommand(serviceSql, { ...ref, tryNumber: 0 })).toBe(true);
  await dispute(serviceSql, order, clock);
  expect(await refuseCommand(serviceSql, { ...ref, tryNumber: 0 })).toBe(true);
  const [row] = await sql`
    SELECT waiting_dispute_id, (SELECT array_agg(cause::text ORDER BY cause) FROM order_wakeups w
      WHERE w.order_number = o.order_number) AS causes FROM orders o WHERE order_number = ${orderNumber}`;
  expect(row).toEqual({ waitingDisputeId: ref.commandId, causes: ['command', 'dispute'] });
});

test('an answer about a chargeback changes nothing that a later question has answered', async ({
  database: { serviceSql: sql },
  order: { payment },
}) => {
  const { gatewayPaymentId } = payment;
  const reversalId = `disp_${gatewayPaymentId}`;
  const made = { reversalId, gatewayPaymentId, amountPaise: PART_PAISE };
  const askedAt: string[] = [];
  for (const _ of [0, 1, 2, 3, 4, 5]) askedAt.push(await databaseTime(sql));
  const report = async (state: 'open' | 'won', asked: number) => {
    const reported = { ...made, kind: 'chargeback', state } as const;
    const options = { askedAt: askedAt[asked] };
    return (await writeReversal(sql, SANDBOX, reported, 'gateway', options)).outcome;
  };
  expect(await report('open', 0)).toBe('recorded');
  expect(await report('won', 2)).toBe('recorded');
  expect(await report('open', 1)).toBe('known');
  expect(await report('open', 3)).toBe('recorded');
  expect(await report('won', 2)).toBe('known');
  expect(await report('open', 5)).toBe('known');
  expect(await report('won', 4)).toBe('known');
});
