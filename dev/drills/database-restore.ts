import { setTimeout as delay } from 'node:timers/promises';
import type { Drill } from './support/cluster.ts';
import { startLoad, type DrillOrder } from './support/load.ts';
import { linksOf, namesOf, startMembers, stopMembers } from './support/members.ts';
import { lostSteps, proveNothingLost, proveSteps, repeatLostCalls } from './support/proof.ts';
import { recoverAll } from './support/recover.ts';
import { firstOf, prove, report } from './support/report.ts';
import { archiveEverything, archiving, backUp, restoreAside } from './support/restore.ts';
import { waitFor } from './support/wait.ts';
import { ordersWithoutRow } from './support/workflows.ts';

const LOAD_MS = 12_000;
const CONCURRENCY = 4;
const MINUTE_MS = 60_000;
/** Temporal's list of workflows lags behind. */
const RECOVERED_WITHIN_MS = 90_000;

/** How its shape differs from the default. */
export const options = archiving(60);

/**
 * Restores the service's database as it was at an earlier time, while Temporal, on another server,
 * keeps its data. The steps that the database has lost come back from the workflows.
 */
export async function run(drill: Drill): Promise<void> {
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_MS / 2);
  await backUp(drill);
  await delay(LOAD_MS / 2);
  const targetMs = Date.now();
  await delay(LOAD_MS);
  await load.finish();
  await archiveEverything(drill);
  await switchTo(drill, targetMs);
  const backAtMs = Date.now();
  const sinceMs = targetMs - MINUTE_MS;
  await recoverAll(drill, sinceMs);
  const created = (order: DrillOrder) => order.acknowledged.createdAtMs ?? Infinity;
  const kept = drill.orders.filter((order) => created(order) < targetMs);
  report(`${kept.length} of ${drill.orders.length} orders were created before the restored time`);
  await proveRecovered(drill, kept, sinceMs);
  await proveAlerted(drill, drill.orders, sinceMs);
  await repeatLostCalls(drill);
  await proveNothingLost(drill, {
    alerts: true,
    lost: [{ fromMs: targetMs, toMs: backAtMs }],
  });
}

/** APIs and workers stop, and start with the restored server. */
async function switchTo(drill: Drill, targetMs: number): Promise<void> {
  const names = namesOf(drill, 'api', 'worker');
  await stopMembers(drill, names);
  const { address, port } = await restoreAside(drill, targetMs);
  for (const link of linksOf(drill, names, 'postgres')) link.retarget(address);
  drill.useDatabaseOn(port);
  await startMembers(drill, names);
}

/** Proves that the workflows have returned every step of the orders that the restored database has. */
async function proveRecovered(
  drill: Drill,
  orders: readonly DrillOrder[],
  sinceMs: number,
): Promise<void> {
  const recovered = waitFor('every step is recorded again', RECOVERED_WITHIN_MS, async () => {
    if ((await drill.withSql((sql) => lostSteps(sql, orders))).lost.length === 0) return true;
    await recoverAll(drill, sinceMs);
    return false;
  });
  await recovered.catch(() => undefined);
  await proveSteps(drill, orders);
  const again = await drill.withSql(async (sql) => {
    const [row] = await sql<{ steps: number }[]>`
      SELECT count(*)::integer AS steps FROM order_steps WHERE details->>'recovered' = 'true'`;
    return row?.steps;
  });
  report(`${again} of the steps were recorded again from the workflows`);
}

/** Proves that an alert names each order whose row the restored database never had. */
async function proveAlerted(
  drill: Drill,
  orders: readonly DrillOrder[],
  sinceMs: number,
): Promise<void> {
  const rows = await drill.withSql(
    (sql) => sql<{ id: string }[]>`SELECT order_number AS id FROM orders`,
  );
  const kept = new Set(rows.map(({ id }) => id));
  const lost = orders.flatMap(({ orderNumber }) => (kept.has(orderNumber) ? [] : orderNumber));
  let silent: string[] = [];
  const alerted = waitFor('every lost order has an alert', RECOVERED_WITHIN_MS, async () => {
    const named = new Set(await ordersWithoutRow(drill));
    silent = lost.filter((orderNumber) => !named.has(orderNumber));
    if (silent.length === 0) return true;
    await recoverAll(drill, sinceMs);
    return false;
  });
  await alerted.catch(() => undefined);
  prove(
    'An alert names every order whose row is lost',
    silent.length === 0,
    `${lost.length} orders ${firstOf(silent)}`.trim(),
  );
}
