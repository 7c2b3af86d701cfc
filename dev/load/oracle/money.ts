import type { Sql } from '../../../src/db/client.ts';
import { STATUSES } from '../../../src/domain/index.ts';
import type { OrderStatus } from '../../../src/domain/index.ts';
import type { Verification } from '../../../src/ledger/verify.ts';
import { runAdmin } from '../../../src/main/admin/run.ts';
import type { GatewayComparison } from '../../../src/payments/reconcile/compare-gateway.ts';
import type { Memory } from '../memory.ts';
import type { GatewayMoney, SimulatorAccess } from '../simulator.ts';
import { askSimulator, lostPaise } from '../simulator.ts';
import { brokenInvariants, releasedPaise } from './money-invariants.ts';
import type { OpenAlerts } from './alerts.ts';
import type { Violation } from './report.ts';
import type { Allowed, CheckedService } from './service.ts';

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

/** What `admin ledger verify --gateway` prints. */
type Verified = Verification & { readonly gateway: GatewayComparison };

/** The service's own proof of the ledger, which also compares it with the gateway and with workflows. */
export async function ledgerViolations({
  environment,
}: CheckedService): Promise<{ lines: number; violations: Violation[] }> {
  const command = ['ledger', 'verify', '--gateway', '--json'];
  const { stdout, stderr, exitCode } = await runAdmin(command, () => environment);
  const found = (subject: string, fault: string, more: Partial<Violation> = {}): Violation => ({
    check: 'ledger',
    subject,
    fault,
    ...more,
  });
  if (stdout === '') return { lines: 0, violations: [found('ledger', `not verified: ${stderr}`)] };
  const { lineCount, faults, faultCount, gateway } = JSON.parse(stdout) as Verified;
  const violations = [
    ...faults.map(({ rule, subject, fault }) =>
      // The balance of an account differs by the faults of single orders.
      found(subject, `${rule}: ${fault}`, { isTotal: rule === 'account' }),
    ),
    ...[
      ...gateway.faults,
      ...gateway.notAsked.map(({ reason, ...payment }) => ({ ...payment, fault: reason })),
    ].map(({ orderNumber, gateway: name, gatewayPaymentId, fault }) =>
      found(orderNumber, `at the gateway: ${fault}`, { about: [`${name}:${gatewayPaymentId}`] }),
    ),
    ...(faultCount > faults.length
      ? [found('ledger', `${faultCount} faults, of which ${faults.length} are listed`)]
      : []),
  ];
  const isSilent = exitCode !== 0 && violations.length === 0;
  return {
    lines: lineCount,
    violations: isSilent ? [found('ledger', `exit code ${exitCode}: ${stderr}`)] : violations,
  };
}

/** The gateway's captures, refunds and transfers: one of each, and equal to the ledger's. */
export async function gatewayViolations(
  sql: Sql,
  gateways: readonly SimulatorAccess[],
  money: readonly GatewayMoney[],
  {
    memory: { orders },
    allowed,
    alerts,
  }: { readonly memory: Memory; readonly allowed: Allowed; readonly alerts: OpenAlerts },
): Promise<{ captures: number; movements: number; violations: Violation[] }> {
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
      about: [aboutPayment(gatewayPaymentId)],
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
      ...(allowed.alerts ? unfitWithoutAlert(money, known, alerts) : []),
      ...captureCounts(money, orders),
      ...(await totalViolations(sql, gateways, money)),
      ...(await lineViolations(sql, money, known)),
      ...(await brokenInvariants(sql, money, allowed)).map((broken): Violation => ({
        check: 'invariant',
        ...broken,
      })),
    ],
  };
}

/** What alerts call a payment. */
const aboutPayment = (paymentId: string) => `razorpay:${paymentId}`;

/** Captures that do not fit, of which operators have not been alerted: until the buyer has all of it back. */
function unfitWithoutAlert(
  money: readonly GatewayMoney[],
  known: ReadonlyMap<string, KnownPayment>,
  { has }: OpenAlerts,
): Violation[] {
  return money.flatMap((one): Violation[] => {
    const { paymentId, amountPaise } = one;
    const payment = known.get(paymentId);
    if (!payment || payment.isWhole || toBuyerPaise(one) === amountPaise) return [];
    if (has('unfit_capture', aboutPayment(paymentId))) return [];
    const fault = `no alert says that ${paymentId} does not fit`;
    return [{ check: 'gateway', subject: payment.orderNumber, fault }];
  });
}

const sumOf = <Item>(items: readonly Item[], paiseOf: (item: Item) => number) =>
  items.reduce((sum, item) => sum + paiseOf(item), 0);

const isLive = ({ status }: { status: string }) => status !== 'failed';

/** What was refunded, or taken by the buyer's bank. */
const toBuyerPaise = (money: GatewayMoney) =>
  sumOf(money.refunds.filter(isLive), ({ amount }) => amount) + lostPaise(money);

function paymentViolations(money: GatewayMoney, known: KnownPayment | undefined): Violation[] {
  const { paymentId, orderNumber = paymentId, amountPaise, refunds, transfers } = money;
  const about = [aboutPayment(paymentId)];
  if (!known) {
    const fault = `captured ${paymentId} at the gateway, and the service does not have it`;
    return [{ check: 'lost', subject: orderNumber, fault, about }];
  }
  const made = `${paymentId}: ${refunds.length} refunds, ${transfers.length} transfers`;
  const [transfer, ...others] = transfers.filter(isLive);
  // Refunds of the gateway's dashboard have no key.
  const ours = refunds.filter(({ notes }) => notes.idempotency_key !== undefined);
  if (ours.filter(isLive).length > 1 || others.length > 0) {
    return [{ check: 'duplicate', subject: orderNumber, fault: made, about }];
  }
  const funds = known.isOwn ? STATUSES[known.status].funds : 'refunded';
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
  }[funds];
  if (isRight && known.amountPaise === amountPaise) return [];
  const what = known.isOwn ? `the order is ${known.status}` : 'surplus';
  const fault = `${made}, ${buyerPaise} paise with the buyer, ${transferredPaise} transferred of ${amountPaise}; ${what}`;
  return [{ check: 'gateway', subject: orderNumber, fault, about }];
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

interface Totals {
  readonly capturedPaise: number;
  readonly feesPaise: number;
  readonly isBalanced: boolean;
}

/** The own totals of the gateways against their payments, and their fees against those in the ledger. */
async function totalViolations(
  sql: Sql,
  gateways: readonly SimulatorAccess[],
  money: readonly GatewayMoney[],
): Promise<Violation[]> {
  const all = await Promise.all(
    gateways.map((access) => askSimulator<Totals>(access, 'GET', '/simulator/totals')),
  );
  const totals = {
    capturedPaise: sumOf(all, (one) => one.capturedPaise),
    feesPaise: sumOf(all, (one) => one.feesPaise),
    isBalanced: all.every(({ isBalanced }) => isBalanced),
  };
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
    .map((fault) => ({ check: 'gateway', subject: 'totals', fault, isTotal: true }));
}

/** What the ledger has of each payment, against the gateway. */
async function lineViolations(
  sql: Sql,
  money: readonly GatewayMoney[],
  known: ReadonlyMap<string, KnownPayment>,
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
    const about = [aboutPayment(paymentId)];
    return (['captured', 'toBuyer', 'released'] as const).flatMap((name): Violation[] => {
      const paise = inLedger.get(paymentId)?.[name] ?? 0;
      if (atGateway[name] === paise) return [];
      const fault = `${paymentId}, ${name}: ${atGateway[name]} paise at the gateway, ${paise} in the ledger`;
      return [{ check: 'gateway', subject: orderNumber, fault, about }];
    });
  });
}
