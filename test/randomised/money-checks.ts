import type { GatewayComparison } from '../../src/payments/reconcile/compare-gateway.ts';
import type { Verification } from '../../src/ledger/verify.ts';
import type { GatewayCapture } from '../../dev/load/simulator.ts';
import { capturedAtGateway } from '../../dev/load/simulator.ts';
import { brokenInvariants } from '../../dev/chaos/money-invariants.ts';
import { simulator } from '../support/gateway.ts';
import type { OpenAlerts } from './alerts.ts';
import { simulatorOf } from './gateway.ts';
import type { System } from './system.ts';

/** A payment in the service's database. */
interface KnownPayment {
  gatewayPaymentId: string;
  orderNumber: string;
  isWhole: boolean;
  /** True if it pays its order or has been refunded. */
  isUsedOrRefunded: boolean;
}

/** The invariants of money that are broken, also of orders with an alert. */
export async function invariantProblems(system: System): Promise<string[]> {
  const broken = await brokenInvariants(system.sql, simulatorOf(system), system.lost);
  return broken.map(({ subject, fault }) => `${subject}: ${fault}`);
}

/** Money at the gateway that belongs to no order, has not been refunded, and has no alert. */
export async function captureProblems(system: System, alerts: OpenAlerts): Promise<string[]> {
  const { sql } = system;
  const captured = await capturedAtGateway(simulatorOf(system));
  const rows = await sql<KnownPayment[]>`
    SELECT p.gateway_payment_id, p.order_number, p.is_whole,
      o.gateway_payment_id IS NOT DISTINCT FROM p.gateway_payment_id
        OR s.processed_at IS NOT NULL AS is_used_or_refunded
    FROM payments p JOIN orders o USING (order_number)
    LEFT JOIN surplus_refunds s ON s.gateway_payment_id = p.gateway_payment_id`;
  const known = new Map(rows.map((row) => [row.gatewayPaymentId, row]));
  const problems = captured
    .map((payment) => problemOf(payment, known.get(payment.id), alerts))
    .filter((problem) => problem !== undefined);
  return [...problems, ...(await totalProblems(system, captured, known))];
}

function problemOf(
  { id, amount, notes }: GatewayCapture,
  known: KnownPayment | undefined,
  alerts: OpenAlerts,
): string | undefined {
  const what = `${id} of ${notes.order_number}, ${amount} paise:`;
  const subject = `razorpay:${id}`;
  if (!known) {
    const isNotified = alerts.isAbout(subject) || alerts.isAbout(notes.order_number);
    return isNotified ? undefined : `${what} the service does not know it, and no alert says so`;
  }
  if (known.isWhole ? known.isUsedOrRefunded : alerts.has('unfit_capture', subject))
    return undefined;
  if (known.isWhole && alerts.has('gateway_refused', subject)) return undefined;
  return `${what} ${known.isWhole ? 'no order has it, and it has not gone back' : 'no alert says that it does not fit'}`;
}

/** Compares the totals of gateway and ledger. */
async function totalProblems(
  system: System,
  captured: readonly GatewayCapture[],
  known: ReadonlyMap<string, KnownPayment>,
): Promise<string[]> {
  const totals = await simulator<{ isBalanced: boolean; capturedPaise: number }>(
    system,
    'GET',
    '/totals',
  );
  const sumOf = (payments: readonly GatewayCapture[]) =>
    payments.reduce((sum, { amount }) => sum + amount, 0);
  const [ledger] = await system.sql<{ paise: number }[]>`
    SELECT coalesce(sum(amount_paise), 0)::bigint AS paise FROM ledger_transfers
    WHERE operation = 'capture'`;
  const fitting = sumOf(captured.filter(({ id }) => known.get(id)?.isWhole));
  return [
    !totals.isBalanced && 'The gateway itself does not add up',
    totals.capturedPaise !== sumOf(captured) &&
      `The gateway captured ${totals.capturedPaise} paise, its payments are ${sumOf(captured)}`,
    ledger?.paise !== fitting &&
      `The ledger has ${ledger?.paise} paise of captures, the gateway ${fitting} of known ones`,
  ].filter((problem) => problem !== false);
}

/**
 * True if a refund was made at the gateway itself from the hold of each of these payments, and failed: the
 * transfer stays smaller by it.
 */
async function haveFailedReversals(
  { sql }: System,
  differing: readonly { gatewayPaymentId: string }[],
): Promise<boolean> {
  const failed = await sql<{ gatewayPaymentId: string }[]>`
    SELECT gateway_payment_id FROM gateway_reversals WHERE state = 'failed'`;
  const ids = new Set(failed.map(({ gatewayPaymentId }) => gatewayPaymentId));
  return differing.every(({ gatewayPaymentId }) => ids.has(gatewayPaymentId));
}

/** The findings of `ledger verify --gateway`, except for orders and payments with an alert. */
export async function ledgerProblems(system: System, alerts: OpenAlerts): Promise<string[]> {
  const { admin } = system;
  const { code, stdout, stderr } = await admin.run('ledger', 'verify', '--gateway', '--json');
  if (stdout === '') return [`ledger verify ended with ${code}: ${stderr}`];
  const { faults, gateway } = JSON.parse(stdout) as Verification & { gateway: GatewayComparison };
  const unexplained = faults.filter(({ subject }) => !alerts.isAbout(subject));
  const isEachExplained = faults.every(
    ({ rule, subject }) => rule === 'account' || alerts.isAbout(subject),
  );
  const ofGateway = [
    ...gateway.faults,
    ...gateway.notAsked.map(({ reason, ...about }) => ({ ...about, fault: reason })),
  ].filter(
    ({ orderNumber, gateway: name, gatewayPaymentId }) =>
      !alerts.isAbout(orderNumber) && !alerts.isAbout(`${name}:${gatewayPaymentId}`),
  );
  // The daily comparison alerts about them, and the next look sees its alert.
  if (ofGateway.length > 0 && (await haveFailedReversals(system, ofGateway))) {
    await system.compareWithGateway();
  }
  return [
    // The balance of an account differs by the faults of single orders.
    ...(isEachExplained && faults.some(({ rule }) => rule !== 'account') ? [] : unexplained).map(
      ({ rule, subject, fault }) => `${subject}: ledger verify, ${rule}: ${fault}`,
    ),
    ...ofGateway.map(
      ({ orderNumber, gatewayPaymentId, fault }) =>
        `${orderNumber}: ledger verify --gateway, ${gatewayPaymentId}: ${fault}`,
    ),
  ];
}
