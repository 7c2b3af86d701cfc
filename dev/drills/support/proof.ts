import { checkWhenQuiet } from '../../load/oracle/check-everything.ts';
import { countsText, violationText } from '../../load/oracle/report.ts';
import type { Allowed, LostTime } from '../../load/oracle/service.ts';
import { recordedSteps, repeatLost, type Drill, type DrillOrder, type Outcome } from './load.ts';
import { firstOf, inSeconds, prove, report, waitFor } from './report.ts';

/** The hourly proof and the 30 s between two comparisons are shorter than a drill may wait. */
const RIGHT_WITHIN_MS = 180_000;
const BACK_WITHIN_MS = 30_000;

/** Proves that the service has all that it acknowledged, once, and completes it. */
export async function proveNothingLost(drill: Drill, allowed: Allowed): Promise<void> {
  const { memory } = drill.deps;
  const refused = memory.surprises.map(({ subject, fault }) => `${subject}: ${fault}`);
  prove('No call of a merchant was refused', refused.length === 0, firstOf(refused));
  const { counts, violations } = await checkWhenQuiet(drill.checked(), memory, allowed, {
    withinMs: RIGHT_WITHIN_MS,
    log: report,
  });
  const found = violations.map(violationText);
  const claim = 'Nothing is under way, lost, duplicated or illegal';
  prove(claim, found.length === 0, `${countsText({ counts, violations })} ${firstOf(found)}`);
}

/**
 * The acknowledged steps that the database does not have.
 *
 * @param beforeMs only those that were acknowledged before this time, in Unix milliseconds
 */
export async function lostSteps(
  drill: Drill,
  orders: readonly DrillOrder[],
  beforeMs = Infinity,
): Promise<{ total: number; lost: string[] }> {
  const recorded = await recordedSteps(drill);
  const steps = orders.flatMap(({ orderNumber, acknowledged }) => {
    const { createdAtMs = Infinity, commands } = acknowledged;
    const carriedOut = commands.filter(({ status }) => status < 300);
    return [{ step: 'ORDER_CREATED', atMs: createdAtMs }, ...carriedOut]
      .filter(({ atMs }) => atMs < beforeMs)
      .map(({ step }) => ({ orderNumber, step }));
  });
  const lost = steps
    .filter(({ orderNumber, step }) => recorded.get(orderNumber)?.includes(step) !== true)
    .map(({ orderNumber, step }) => `${orderNumber} ${step}`);
  return { total: steps.length, lost };
}

/**
 * Brings both sides together after a restore under load, and lets merchants repeat what is lost. A buyer can
 * have paid twice: the database has lost a payment that the gateway keeps, and the client, which still waited for
 * its answer, has sent the call again. No order of the database knows the first payment then, so this is the price of
 * lost data; the payment with which the order is not paid must be refunded, also if an alert names the order.
 *
 * @param sinceMs before the first lost order, in Unix milliseconds
 */
export async function recoverLost(
  drill: Drill,
  lostTime: LostTime,
  sinceMs: number,
): Promise<Outcome> {
  for (const { acknowledged } of drill.orders) {
    const { createdAtMs = Infinity, commands } = acknowledged;
    const paid = commands.find(({ operation }) => operation === 'pay');
    const isInTime = createdAtMs < lostTime.toMs && (paid?.atMs ?? Infinity) > lostTime.fromMs;
    if (isInTime) acknowledged.mostCaptures = 2;
  }
  await recoverAll(drill, sinceMs);
  await repeatLost(drill);
  return {
    allowed: { alerts: true, lost: [lostTime], missingWorkflows: true },
    afterwards: () => proveSurplusRefunded(drill),
  };
}

/** The gateway itself has refunded a payment that is not whole. */
async function proveSurplusRefunded({ withSql }: Drill): Promise<void> {
  const surplus = await withSql(
    (sql) => sql<{ orderNumber: string; isRefunded: boolean }[]>`
      SELECT p.order_number, s.processed_at IS NOT NULL AS is_refunded
      FROM payments p JOIN orders o ON o.order_number = p.order_number
        LEFT JOIN surplus_refunds s
          ON s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id
      WHERE p.is_whole AND o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id`,
  );
  const left = surplus.filter(({ isRefunded }) => !isRefunded);
  const figures = `${surplus.length} ${firstOf(left.map(({ orderNumber }) => orderNumber))}`;
  prove('Every payment beside that of its order is refunded', left.length === 0, figures);
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
async function recoverAll(drill: Drill, sinceMs: number): Promise<void> {
  const since = new Date(sinceMs).toISOString();
  const printed = await drill.admin('order', 'recover', '--all', '--since', since);
  report(`order recover --all: ${printed.replaceAll(/\s+/g, ' ')}`);
}
