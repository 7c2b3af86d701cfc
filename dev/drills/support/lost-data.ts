import { kill, namesOf, startMembers, stopMembers } from '../../faults/run.ts';
import { recoverAll } from '../../faults/faults.ts';
import { create } from '../../load/commands.ts';
import { inParallel } from '../../load/in-parallel.ts';
import type { LostTime } from '../../load/oracle/service.ts';
import { forgetSurprises, makeMissingCalls, type Drill, type Outcome } from './load.ts';
import { firstOf, inSeconds, prove, report } from './report.ts';

const AT_ONCE = 4;

/**
 * Kills PostgreSQL under load, with the data of the service and of Temporal, and brings back what is left of it. Then
 * operators bring both sides together, and merchants repeat what is lost. The other processes are stopped meanwhile: they
 * hold newer data in memory. Temporal without its database tries again and again to delete tasks that it has done; of an
 * older server some of them are still to be done.
 *
 * @param bringBack returns the time up to which nothing is lost, in Unix milliseconds
 */
export async function loseDatabase(
  drill: Drill,
  bringBack: (killedAtMs: number) => Promise<number>,
): Promise<Outcome> {
  await kill(drill, 'postgres');
  const killedAtMs = Date.now();
  const names = namesOf(drill, 'api', 'worker');
  await stopMembers(drill, [...names, 'temporal']);
  const fromMs = await bringBack(killedAtMs);
  await startMembers(drill, ['temporal']);
  await startMembers(drill, names);
  const lostTime = { fromMs, toMs: Date.now() };
  report(`back ${inSeconds(lostTime.toMs - killedAtMs)} after the kill`);
  await drill.finishLoad();
  await proveKept(drill, fromMs, killedAtMs);
  allowSecondCaptures(drill, lostTime);
  report(`order recover --all: ${(await recoverAll(drill)).replaceAll(/\s+/g, ' ')}`);
  await repeatLost(drill);
  return {
    allowed: { alerts: true, lost: [lostTime], missingWorkflows: true },
    afterwards: () => proveSurplusRefunded(drill),
  };
}

/** Proves that the database has every step that was acknowledged before a time, of those before the kill. */
async function proveKept(drill: Drill, keptToMs: number, killedAtMs: number): Promise<void> {
  const recorded = await recordedKinds(drill);
  const steps = drill.orders.flatMap(({ orderNumber, acknowledged }) => {
    const { createdAtMs = Infinity, commands } = acknowledged;
    return [{ step: 'ORDER_CREATED', status: 201, atMs: createdAtMs }, ...commands]
      .filter(({ status, atMs }) => status < 300 && atMs < killedAtMs)
      .map(({ step, atMs }) => ({ orderNumber, step, atMs }));
  });
  const lost = steps.filter(
    ({ orderNumber, step }) => recorded.get(orderNumber)?.includes(step) !== true,
  );
  const early = lost.filter(({ atMs }) => atMs < keptToMs);
  const since = `${lost.length} of ${steps.length} steps are lost, acknowledged in the last ${inSeconds(killedAtMs - keptToMs)}`;
  const figures = firstOf(early.map(({ orderNumber, step }) => `${orderNumber} ${step}`));
  prove('Nothing is lost that was acknowledged before', early.length === 0, `${since} ${figures}`);
}

/** The kinds of the recorded steps of each order in the database. */
async function recordedKinds({ withSql }: Drill): Promise<Map<string, string[]>> {
  const rows = await withSql(
    (sql) => sql<{ orderNumber: string; kinds: string[] }[]>`
      SELECT order_number, array_agg(kind) AS kinds FROM order_steps GROUP BY order_number`,
  );
  return new Map(rows.map(({ orderNumber, kinds }) => [orderNumber, kinds]));
}

/**
 * A buyer can have paid twice: the database has lost a payment that the gateway keeps, and the client, which still waited
 * for its answer, has sent the call again. No order of the database knows the first payment then, so this is the price of
 * lost data; the payment with which the order is not paid must be refunded, also if an alert names the order.
 */
function allowSecondCaptures({ orders }: Drill, { fromMs, toMs }: LostTime): void {
  for (const { acknowledged } of orders) {
    const { createdAtMs = Infinity, commands } = acknowledged;
    const paid = commands.find(({ operation }) => operation === 'pay');
    if (createdAtMs < toMs && (paid?.atMs ?? Infinity) > fromMs) acknowledged.mostCaptures = 2;
  }
}

/**
 * Acts as merchants do after data was lost: creates lost orders again, with their Idempotency-Keys, and
 * repeats the calls whose steps are lost. What was refused before is forgotten: only the lost data explains it.
 */
async function repeatLost(drill: Drill): Promise<void> {
  const recorded = await recordedKinds(drill);
  let [created, calls] = [0, 0];
  await inParallel(drill.orders, AT_ONCE, async (order) => {
    forgetSurprises(order);
    const steps = recorded.get(order.orderNumber);
    if (steps === undefined) {
      created += 1;
      order.acknowledged.commands.splice(0);
      order.acknowledged.orderNumbers.clear();
      await create(order);
    }
    const made = await makeMissingCalls(order, steps ?? []);
    calls += made;
  });
  report(
    `merchants created ${created} lost orders again, with their keys, and made ${calls} calls`,
  );
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
