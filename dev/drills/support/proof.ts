import type { Sql } from '../../../src/db/client.ts';
import { checkWhenQuiet } from '../../load/oracle/check-everything.ts';
import { ledgerReport } from '../../load/oracle/ledger.ts';
import { countsText, violationText, type Report } from '../../load/oracle/report.ts';
import type { Allowed, LostTime } from '../../load/oracle/service.ts';
import { repeatLost, type Drill, type DrillOrder } from './load.ts';
import { firstOf, inSeconds, onOneLine, prove, report, waitFor } from './report.ts';

/** The hourly proof and the 30 s between two comparisons are shorter than a drill may wait. */
const QUIET_WITHIN_MS = 90_000;
const RIGHT_WITHIN_MS = 90_000;
const BACK_WITHIN_MS = 30_000;

const proveReport = (claim: string, found: Report) =>
  prove(
    claim,
    found.violations.length === 0,
    `${countsText(found)} ${firstOf(found.violations.map(violationText))}`,
  );

/** Proves that the service has all that it acknowledged, once, and completes it. */
export async function proveNothingLost(drill: Drill, allowed: Allowed = {}): Promise<void> {
  const { memory } = drill.deps;
  const refused = memory.surprises.map(({ subject, fault }) => `${subject}: ${fault}`);
  prove('No call of a merchant was refused', refused.length === 0, firstOf(refused));
  const outcome = await checkWhenQuiet(drill.checked(), memory, allowed, {
    quietWithinMs: QUIET_WITHIN_MS,
    rightWithinMs: RIGHT_WITHIN_MS,
    log: report,
  });
  proveReport('Nothing is under way, lost, duplicated or illegal', outcome);
}

/** Proves that the ledger adds up, and that the gateway and the workflows agree. */
export async function proveLedger(drill: Drill): Promise<void> {
  const outcome = await ledgerReport(drill.checked());
  proveReport('The ledger sums to zero, and the gateway agrees', outcome);
}

async function stepKinds(sql: Sql): Promise<Map<string, string[]>> {
  const rows = await sql<{ orderNumber: string; kinds: string[] }[]>`
    SELECT order_number, array_agg(kind) AS kinds FROM order_steps GROUP BY order_number`;
  return new Map(rows.map(({ orderNumber, kinds }) => [orderNumber, kinds]));
}

/**
 * The acknowledged steps that the database does not have.
 *
 * @param beforeMs only those that were acknowledged before this time, in Unix milliseconds
 */
export async function lostSteps(
  { withSql }: Drill,
  orders: readonly DrillOrder[],
  beforeMs = Infinity,
): Promise<{ total: number; lost: string[] }> {
  const kindsOf = await withSql(stepKinds);
  const steps = orders.flatMap(({ orderNumber, acknowledged }) => {
    const { createdAtMs = Infinity, commands } = acknowledged;
    const carriedOut = commands.filter(({ result }) => result === 'carried out');
    return [{ step: 'ORDER_CREATED', atMs: createdAtMs }, ...carriedOut]
      .filter(({ atMs }) => atMs < beforeMs)
      .map(({ step }) => ({ orderNumber, step }));
  });
  const lost = steps
    .filter(({ orderNumber, step }) => kindsOf.get(orderNumber)?.includes(step) !== true)
    .map(({ orderNumber, step }) => `${orderNumber} ${step}`);
  return { total: steps.length, lost };
}

/**
 * A buyer whose payment was lost while the client still waited for its answer has paid again with the repeat: at
 * most twice. The gateway has both.
 */
export function expectSecondPayments({ orders }: Drill, { fromMs, toMs }: LostTime): void {
  for (const { acknowledged } of orders) {
    const { createdAtMs = Infinity, commands } = acknowledged;
    const paid = commands.find(({ operation }) => operation === 'pay');
    if (createdAtMs < toMs && (paid?.atMs ?? Infinity) > fromMs) acknowledged.mostCaptures = 2;
  }
}

/** Merchants repeat what was lost, and report it. */
export async function repeatLostCalls({ orders, withSql }: Drill): Promise<void> {
  const kindsOf = await withSql(stepKinds);
  const { created, calls } = await repeatLost(orders, (orderNumber) => kindsOf.get(orderNumber));
  report(
    `merchants created ${created} lost orders again, with their keys, and made ${calls} calls`,
  );
}

/** Proves that a command is carried out soon after a time at which the service could serve again. */
export async function proveBackSoon({ merchant }: Drill, sinceMs: number): Promise<void> {
  const first = await waitFor('a command succeeds', 2 * BACK_WITHIN_MS, () =>
    merchant.client.answers.find(
      ({ method, status, atMs }) =>
        method === 'POST' && status > 0 && status < 300 && atMs > sinceMs,
    ),
  );
  const afterMs = first.atMs + first.ms - sinceMs;
  const claim = `Commands succeed again within ${inSeconds(BACK_WITHIN_MS)}`;
  prove(claim, afterMs <= BACK_WITHIN_MS, inSeconds(afterMs));
}

/** Runs `admin order recover --all --since TIME`, and prints what it found. */
export async function recoverAll(drill: Drill, sinceMs: number): Promise<void> {
  const since = new Date(sinceMs).toISOString();
  const printed = await drill.admin('order', 'recover', '--all', '--since', since);
  report(`order recover --all: ${onOneLine(printed)}`);
}
