import type { Sql } from '../../src/db/client.ts';
import { STATUSES } from '../../src/domain/index.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { Memory } from '../load/memory.ts';
import type { GatewayMoney, SimulatorAccess } from '../load/simulator.ts';
import { askSimulator, lostPaise, moneyAtGateway } from '../load/simulator.ts';
import { brokenInvariants, releasedPaise } from './money-invariants.ts';
import type { Violation } from './report.ts';

/** A payment in the database. */
interface KnownPayment {
  readonly gatewayPaymentId: string;
  readonly orderNumber: string;
  readonly amountPaise: number;
  readonly status: OrderStatus;
  /** True if its order is paid with it; otherwise it is surplus. */
  readonly isOwn: boolean;
  readonly isHeld: boolean;
  /** False if some of it was refunded when the gateway was first asked: the ledger does not have it. */
  readonly isWhole: boolean;
}

/** The ledger's own proof: zero in sum, and no contradiction to orders and payments. */
export async function ledgerViolations(
  sql: Sql,
): Promise<{ lines: number; violations: Violation[] }> {
  const { lineCount, sums, faults, faultCount } = await verifyLedger(sql);
  const violations = faults.map(({ rule, subject, fault }): Violation => ({
    check: 'ledger',
    subject,
    fault: `${rule}: ${fault}`,
  }));
  const isListed = faultCount === faults.length;
  const unlisted = isListed ? [] : [`${faultCount} faults, of which ${faults.length} are listed`];
  const notZero = sums
    .filter(({ sumPaise }) => sumPaise !== 0)
    .map(({ environment, sumPaise }) => `${environment} sums to ${sumPaise} paise`);
  return {
    lines: lineCount,
    violations: [
      ...violations,
      ...[...unlisted, ...notZero].map((fault): Violation => ({
        check: 'ledger',
        subject: 'ledger',
        fault,
      })),
    ],
  };
}

/** The gateway's captures, refunds and transfers: one of each, and equal to the ledger's. */
export async function gatewayViolations(
  sql: Sql,
  access: SimulatorAccess,
  { orders }: Memory,
): Promise<{ captures: number; movements: number; violations: Violation[] }> {
  const money = await moneyAtGateway(access);
  const rows = await sql<KnownPayment[]>`
    SELECT p.gateway_payment_id, p.order_number, p.amount_paise, o.status,
      o.gateway_payment_id IS NOT DISTINCT FROM p.gateway_payment_id AS is_own,
      p.held_at IS NOT NULL AS is_held, p.is_whole
    FROM payments p JOIN orders o USING (order_number)`;
  const known = new Map(rows.map((row) => [row.gatewayPaymentId, row]));
  const capturedIds = new Set(money.map(({ paymentId }) => paymentId));
  const invented = rows
    .filter(({ gatewayPaymentId }) => !capturedIds.has(gatewayPaymentId))
    .map(({ gatewayPaymentId, orderNumber }): Violation => ({
      check: 'gateway',
      subject: orderNumber,
      fault: `the gateway has not captured ${gatewayPaymentId}`,
    }));
  const movements = money.reduce(
    (sum, { refunds, transfers }) => sum + refunds.length + transfers.length,
    0,
  );
  return {
    captures: money.length,
    movements,
    violations: [
      ...invented,
      ...money.flatMap((one) => paymentViolations(one, known.get(one.paymentId))),
      ...captureCounts(money, orders),
      ...(await totalViolations(sql, access, money)),
      ...(await ledgerTotalViolations(
        sql,
        money.filter(({ paymentId }) => known.get(paymentId)?.isWhole),
      )),
      ...(await brokenInvariants(sql, access)).map((broken): Violation => ({
        check: 'gateway',
        ...broken,
      })),
    ],
  };
}

const sumOf = <Item>(items: readonly Item[], paiseOf: (item: Item) => number) =>
  items.reduce((sum, item) => sum + paiseOf(item), 0);

const isLive = ({ status }: { status: string }) => status !== 'failed';

/** What was refunded, or taken by the buyer's bank. */
const toBuyerPaise = (money: GatewayMoney) =>
  sumOf(money.refunds.filter(isLive), ({ amount }) => amount) + lostPaise(money);

function paymentViolations(money: GatewayMoney, known: KnownPayment | undefined): Violation[] {
  const { paymentId, orderNumber = paymentId, amountPaise, refunds, transfers } = money;
  if (!known) {
    const fault = `captured ${paymentId} at the gateway, and the service does not have it`;
    return [{ check: 'lost', subject: orderNumber, fault }];
  }
  const made = `${paymentId}: ${refunds.length} refunds, ${transfers.length} transfers`;
  const live = refunds.filter(isLive);
  if (live.length > 1 || transfers.length > 1) {
    return [{ check: 'duplicate', subject: orderNumber, fault: made }];
  }
  const funds = known.isOwn ? STATUSES[known.status].funds : 'refunded';
  const buyerPaise = toBuyerPaise(money);
  const [transfer] = transfers;
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
  }[funds];
  if (isRight && known.amountPaise === amountPaise) return [];
  const what = known.isOwn ? `the order is ${known.status}` : 'surplus';
  const fault = `${made}, ${buyerPaise} paise with the buyer, ${transferredPaise} transferred of ${amountPaise}; ${what}`;
  return [{ check: 'gateway', subject: orderNumber, fault }];
}

/** A repeated command must not let the buyer pay twice. */
function captureCounts(money: readonly GatewayMoney[], orders: Memory['orders']): Violation[] {
  const captures = Map.groupBy(money, ({ orderNumber }) => orderNumber);
  return orders.flatMap(({ orderNumbers, mostCaptures }) =>
    [...orderNumbers].flatMap((subject): Violation[] => {
      const count = captures.get(subject)?.length ?? 0;
      if (mostCaptures === undefined || count <= mostCaptures) return [];
      const fault = `its buyer paid ${mostCaptures} times at most, and ${count} payments were captured`;
      return [{ check: 'duplicate', subject, fault }];
    }),
  );
}

/** The gateway's own totals against its payments, and its fees against those in the ledger. */
async function totalViolations(
  sql: Sql,
  access: SimulatorAccess,
  money: readonly GatewayMoney[],
): Promise<Violation[]> {
  const totals = await askSimulator<{
    capturedPaise: number;
    feesPaise: number;
    isBalanced: boolean;
  }>(access, 'GET', '/simulator/totals');
  const [ledger] = await sql<[{ feesPaise: number }]>`
    SELECT coalesce(sum(amount_paise), 0)::bigint AS fees_paise FROM ledger_transfers
    WHERE debit_account = 'gateway_fees'`;
  const capturedPaise = sumOf(money, ({ amountPaise }) => amountPaise);
  const faults = [
    !totals.isBalanced && 'the gateway itself does not add up',
    totals.capturedPaise !== capturedPaise &&
      `the gateway captured ${totals.capturedPaise} paise, its payments are ${capturedPaise}`,
    totals.feesPaise !== ledger.feesPaise &&
      `the gateway has charged ${totals.feesPaise} paise, the ledger has ${ledger.feesPaise}`,
  ];
  return faults
    .filter((fault) => fault !== false)
    .map((fault) => ({ check: 'gateway', subject: 'totals', fault }));
}

/** The totals of the payments that the ledger must have, at the gateway and in the ledger. */
async function ledgerTotalViolations(
  sql: Sql,
  money: readonly GatewayMoney[],
): Promise<Violation[]> {
  const atGateway = {
    captured: sumOf(money, ({ amountPaise }) => amountPaise),
    'with buyers': sumOf(money, toBuyerPaise),
    released: sumOf(money, releasedPaise),
  };
  const [inLedger] = await sql<(typeof atGateway)[]>`
    SELECT coalesce(sum(amount_paise) FILTER (WHERE operation = 'capture'), 0)::bigint AS captured,
      coalesce(sum(CASE operation WHEN 'refund_failed' THEN -amount_paise ELSE amount_paise END)
        FILTER (WHERE operation IN ('refund', 'refund_failed', 'reversal', 'loss')), 0)::bigint
        AS "with buyers",
      coalesce(sum(amount_paise) FILTER (WHERE operation = 'release'), 0)::bigint AS released
    FROM ledger_transfers`;
  return (['captured', 'with buyers', 'released'] as const)
    .filter((name) => atGateway[name] !== inLedger?.[name])
    .map((name) => ({
      check: 'gateway',
      subject: 'totals',
      fault: `${name}: ${atGateway[name]} paise at the gateway, ${inLedger?.[name]} in the ledger`,
    }));
}
