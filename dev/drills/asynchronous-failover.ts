import { setTimeout as delay } from 'node:timers/promises';
import { withCluster, type Drill } from './support/cluster.ts';
import { failOver, REPLICATION, startStandby } from './support/failover.ts';
import { startLoad } from './support/load.ts';
import { namesOf, startMembers, stopMembers } from './support/members.ts';
import { lostSteps, openAlerts, proveMoney, proveEnded, repeatLostCalls } from './support/proof.ts';
import { recoverAll } from './support/recover.ts';
import { inSeconds, prove, report } from './support/report.ts';
import { proveWorkflows } from './support/workflows.ts';

const LOAD_MS = 10_000;
const CONCURRENCY = 4;
/** How far the standby is behind when the primary is killed. */
const LAG_MS = 3000;

/**
 * Kills the primary under load while a standby with asynchronous replication is seconds behind. What was
 * acknowledged in these seconds is lost by the service and by Temporal; the gateway still has it.
 */
export function run(): Promise<void> {
  return withCluster(runOn, REPLICATION);
}

async function runOn(drill: Drill): Promise<void> {
  const startedAtMs = Date.now();
  const load = startLoad(drill.api, CONCURRENCY);
  await delay(LOAD_MS / 2);
  const standby = await startStandby(drill, 'asynchronous');
  try {
    await delay(LOAD_MS);
    const behindSinceMs = Date.now();
    await standby.link.refuse();
    await delay(LAG_MS);
    // They hold newer data in memory than the standby has.
    const clients = [...namesOf(drill, 'api', 'worker'), 'temporal' as const];
    const killedAtMs = await failOver(drill, standby);
    await stopMembers(drill, clients);
    await drill.cluster.member('temporal').start();
    await startMembers(drill, namesOf(drill, 'api', 'worker'));
    report(`back ${inSeconds(Date.now() - killedAtMs)} after the primary was killed`);
    await load.finish();
    const early = load.orders.map((order) => ({
      ...order,
      acknowledged: order.acknowledged.filter(({ atMs }) => atMs < behindSinceMs),
    }));
    const late = load.orders.map((order) => ({
      ...order,
      acknowledged: order.acknowledged.filter(({ atMs }) => atMs < killedAtMs),
    }));
    const [lostEarly, lost] = await drill.withSql(async (sql) => [
      await lostSteps(sql, early),
      await lostSteps(sql, late),
    ]);
    prove('Nothing is lost from before the standby was behind', lostEarly?.length === 0);
    report(
      `${lost?.length} acknowledged steps are lost with a standby ${inSeconds(LAG_MS)} behind`,
    );
    await recoverAll(drill, startedAtMs);
    await repeatLostCalls(drill, load.orders);
    await proveEnded(drill, load.orders);
    await proveWorkflows(drill);
    await proveMoney(drill);
    report(`open alerts: ${JSON.stringify(await openAlerts(drill))}`);
  } finally {
    await standby.link.stop();
    await standby.stop();
  }
}
