import type { Sql } from '../../../src/db/client.ts';
import { checkWhenQuiet } from '../../load/oracle/check-everything.ts';
import { ledgerViolations } from '../../load/oracle/money.ts';
import { countsText } from '../../load/oracle/report.ts';
import type { Allowed } from '../../load/oracle/service.ts';
import type { Drill } from './cluster.ts';
import { repeatLost, type DrillOrder } from './load.ts';
import { firstOf, inSeconds, prove, report } from './report.ts';
import { waitFor } from './wait.ts';

/** The hourly proof and the 30 s between two comparisons are shorter than a drill may wait. */
const QUIET_WITHIN_MS = 90_000;
const RIGHT_WITHIN_MS = 90_000;
const BACK_WITHIN_MS = 30_000;

/** Proves that the service has all that it acknowledged, once, and completes it. */
export async function proveNothingLost(drill: Drill, allowed: Allowed = {}): Promise<void> {
  const { orders, deps } = drill;
  const refused = orders.flatMap(({ orderNumber, refusal }) =>
    refusal === undefined ? [] : [`${orderNumber || 'an order'}: ${refusal}`],
  );
  prove('No call of a merchant was refused', refused.length === 0, firstOf(refused));
  const outcome = await checkWhenQuiet(drill.checked(), deps.memory, allowed, {
    quietWithinMs: QUIET_WITHIN_MS,
    rightWithinMs: RIGHT_WITHIN_MS,
    log: report,
  });
  const { violations } = outcome;
  const found = violations.map(({ check, subject, fault }) => `${check}: ${subject} ${fault}`);
  prove(
    'Nothing is under way, lost, duplicated or illegal',
    violations.length === 0,
    `${countsText(outcome)} ${firstOf(found)}`.trim(),
  );
}

/** Proves that the ledger adds up, and that the gateway and the workflows agree. */
export async function proveLedger(drill: Drill): Promise<void> {
  const { lines, violations } = await ledgerViolations(drill.checked());
  const found = violations.map(({ subject, fault }) => `${subject} ${fault}`);
  const figures = `${lines} lines ${firstOf(found)}`.trim();
  prove('The ledger sums to zero, and the gateway agrees', violations.length === 0, figures);
}

/** Proves that each acknowledged step is recorded. */
export async function proveSteps(drill: Drill, orders: readonly DrillOrder[]): Promise<void> {
  const { total, lost } = await drill.withSql((sql) => lostSteps(sql, orders));
  prove(
    'Every acknowledged step is recorded',
    lost.length === 0,
    `${orders.length} orders, ${total} steps, ${lost.length} lost ${firstOf(lost)}`.trim(),
  );
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
  sql: Sql,
  orders: readonly DrillOrder[],
  beforeMs = Infinity,
): Promise<{ total: number; lost: string[] }> {
  const kindsOf = await stepKinds(sql);
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
