import type { Sql } from '../../../src/db/client.ts';
import { STATUSES } from '../../../src/domain/index.ts';
import type { Memory } from '../memory.ts';
import { askSimulator, simulatorsOf, type GatewayMoney } from '../simulator.ts';
import {
  isLive,
  readPayments,
  releasedPaise,
  toBuyerPaise,
  type KnownPayment,
} from './payments.ts';
import { violation, type Report, type Violation } from './report.ts';
import type { Compared } from './compared.ts';

type Known = ReadonlyMap<string, KnownPayment>;

/** What alerts call a payment. */
const aboutPayment = (paymentId: string) => [`razorpay:${paymentId}`];

/** The gateway's captures, refunds and transfers: one of each, and equal to the ledger's. */
export async function compareMoney(compared: Compared): Promise<Report> {
  const { sql, money, memory, allowed } = compared;
  const known = await readPayments(sql);
  const movements = money.flatMap(({ refunds, transfers }) => [...refunds, ...transfers]);
  return {
    counts: {
      'captures at the gateway': money.length,
      'refunds and transfers at the gateway': movements.length,
    },
    violations: [
      ...inventedPayments(money, known),
      ...money.flatMap((one) => paymentViolations(one, known.get(one.paymentId))),
      ...(allowed.alerts ? unfitWithoutAlert(compared, known) : []),
      ...captureCounts(money, memory.orders),
      ...(await totalViolations(compared)),
      ...(await lineViolations(sql, money, known)),
    ],
  };
}

function inventedPayments(money: readonly GatewayMoney[], known: Known): Violation[] {
  const captured = new Set(money.map(({ paymentId }) => paymentId));
  return [...known.values()]
    .filter(({ gatewayPaymentId: id }) => !captured.has(id))
    .map(({ gatewayPaymentId: id, orderNumber }) =>
      violation('gateway', orderNumber, `the gateway has not captured ${id}`, aboutPayment(id)),
    );
}

/** Captures that do not fit, of which operators have not been alerted: until the buyer has all of it back. */
function unfitWithoutAlert({ money, alerts }: Compared, known: Known): Violation[] {
  return money.flatMap((one) => {
    const { paymentId, amountPaise } = one;
    const payment = known.get(paymentId);
    if (!payment || payment.isWhole || toBuyerPaise(one) === amountPaise) return [];
    if (aboutPayment(paymentId).some((subject) => alerts.has('unfit_capture', subject))) return [];
    return violation(
      'gateway',
      payment.orderNumber,
      `no alert says that ${paymentId} does not fit`,
    );
  });
}

function paymentViolations(money: GatewayMoney, known: KnownPayment | undefined): Violation[] {
  const { paymentId, orderNumber = paymentId, amountPaise, refunds, transfers } = money;
  const about = aboutPayment(paymentId);
  if (!known) {
    const fault = `captured ${paymentId} at the gateway, and the service does not have it`;
    return [violation('lost', orderNumber, fault, about)];
  }
  const made = `${paymentId}: ${refunds.length} refunds, ${transfers.length} transfers`;
  const [transfer, ...others] = transfers.filter(isLive);
  // Refunds of the gateway's dashboard have no key.
  const ours = refunds.filter(({ notes }) => notes.idempotency_key !== undefined);
  if (ours.filter(isLive).length > 1 || others.length > 0) {
    return [violation('duplicate', orderNumber, made, about)];
  }
  const buyerPaise = toBuyerPaise(money);
  const transferredPaise = transfer ? transfer.amount - transfer.amount_reversed : 0;
  const isHeld = transfer !== undefined && transfer.on_hold;
  const isRight = {
    none: false,
    held:
      buyerPaise === 0 &&
      transferredPaise === (known.isHeld ? amountPaise : 0) &&
      isHeld === known.isHeld,
    released: buyerPaise === 0 && transferredPaise === amountPaise && !isHeld,
    refunded: buyerPaise === amountPaise && transferredPaise === 0,
  }[known.isOwn ? STATUSES[known.status].funds : 'refunded'];
  if (isRight && known.amountPaise === amountPaise) return [];
  const what = known.isOwn ? `the order is ${known.status}` : 'surplus';
  const fault = `${made}, ${buyerPaise} paise with the buyer, ${transferredPaise} transferred of ${amountPaise}; ${what}`;
  return [violation('gateway', orderNumber, fault, about)];
}

/** A repeated command must not let the buyer pay twice. */
function captureCounts(money: readonly GatewayMoney[], orders: Memory['orders']): Violation[] {
  const captures = Map.groupBy(money, ({ orderNumber }) => orderNumber);
  return orders.flatMap(({ orderNumbers, mostCaptures }) =>
    [...orderNumbers].flatMap((subject) => {
      const count = captures.get(subject)?.length ?? 0;
      if (mostCaptures === undefined || count <= mostCaptures) return [];
      const fault = `its buyer paid ${mostCaptures} times at most, and ${count} payments were captured`;
      return violation('duplicate', subject, fault);
    }),
  );
}

interface Totals {
  readonly capturedPaise: number;
  readonly feesPaise: number;
  readonly isBalanced: boolean;
}

/** The own totals of the gateways against their payments, and their fees against those in the ledger. */
async function totalViolations({ service, sql, money }: Compared): Promise<Violation[]> {
  const all = await Promise.all(
    simulatorsOf(service).map((one) => askSimulator<Totals>(one, 'GET', '/simulator/totals')),
  );
  const [ledger] = await sql<[{ feesPaise: number }]>`
    SELECT coalesce(sum(amount_paise), 0)::bigint AS fees_paise FROM ledger_transfers
    WHERE debit_account = 'gateway_fees'`;
  const capturedPaise = all.reduce((sum, one) => sum + one.capturedPaise, 0);
  const feesPaise = all.reduce((sum, one) => sum + one.feesPaise, 0);
  const paymentsPaise = money.reduce((sum, { amountPaise }) => sum + amountPaise, 0);
  const faults = [
    !all.every(({ isBalanced }) => isBalanced) && 'the gateway itself does not add up',
    capturedPaise !== paymentsPaise &&
      `the gateway captured ${capturedPaise} paise, its payments are ${paymentsPaise}`,
    feesPaise !== ledger.feesPaise &&
      `the gateway has charged ${feesPaise} paise, the ledger has ${ledger.feesPaise}`,
  ];
  return faults
    .filter((fault) => fault !== false)
    .map((fault) => violation('gateway', 'totals', fault, [], true));
}

/** What the ledger has of each payment, against the gateway. */
async function lineViolations(
  sql: Sql,
  money: readonly GatewayMoney[],
  known: Known,
): Promise<Violation[]> {
  const lines = await sql<
    { paymentId: string; captured: number; toBuyer: number; released: number }[]
  >`
    SELECT gateway_payment_id AS payment_id,
      coalesce(sum(amount_paise) FILTER (WHERE operation = 'capture'), 0)::bigint AS captured,
      coalesce(sum(CASE operation WHEN 'refund_failed' THEN -amount_paise ELSE amount_paise END)
        FILTER (WHERE operation IN ('refund', 'refund_failed', 'reversal', 'loss')), 0)::bigint
        AS to_buyer,
      coalesce(sum(amount_paise) FILTER (WHERE operation = 'release'), 0)::bigint AS released
    FROM ledger_transfers GROUP BY gateway_payment_id`;
  const inLedger = new Map(lines.map((line) => [line.paymentId, line]));
  return money.flatMap((one) => {
    const { paymentId, orderNumber = paymentId } = one;
    const isBooked = known.get(paymentId)?.isWhole === true;
    const atGateway = {
      captured: isBooked ? one.amountPaise : 0,
      toBuyer: isBooked ? toBuyerPaise(one) : 0,
      released: isBooked ? releasedPaise(one) : 0,
    };
    return (['captured', 'toBuyer', 'released'] as const).flatMap((name) => {
      const paise = inLedger.get(paymentId)?.[name] ?? 0;
      if (atGateway[name] === paise) return [];
      const fault = `${paymentId}, ${name}: ${atGateway[name]} paise at the gateway, ${paise} in the ledger`;
      return violation('gateway', orderNumber, fault, aboutPayment(paymentId));
    });
  });
}
