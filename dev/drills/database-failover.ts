import { setTimeout as delay } from 'node:timers/promises';
import { withCluster, type Drill } from './support/cluster.ts';
import { failOver, proveBackSoon, REPLICATION, startStandby } from './support/failover.ts';
import { startLoad } from './support/load.ts';
import { openAlerts, proveNothingLost } from './support/proof.ts';
import { report } from './support/report.ts';
import { proveWorkflows } from './support/workflows.ts';

const LOAD_MS = 10_000;
const CONCURRENCY = 4;

/** Kills the primary under load and promotes a standby with synchronous replication. */
export function run(): Promise<void> {
  return withCluster(runOn, REPLICATION);
}

async function runOn(drill: Drill): Promise<void> {
  const load = startLoad(drill.api, CONCURRENCY);
  await delay(LOAD_MS / 2);
  const standby = await startStandby(drill, 'synchronous');
  try {
    await delay(LOAD_MS);
    const killedAtMs = await failOver(drill, standby);
    await proveBackSoon(drill, killedAtMs);
    await delay(LOAD_MS);
    await load.finish();
    await proveNothingLost(drill, load.orders);
    await proveWorkflows(drill);
    report(`open alerts: ${JSON.stringify(await openAlerts(drill))}`);
  } finally {
    await standby.link.stop();
    await standby.stop();
  }
}
