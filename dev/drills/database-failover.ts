import { setTimeout as delay } from 'node:timers/promises';
import type { Drill } from './support/cluster.ts';
import { failOver, REPLICATION, startStandby } from './support/failover.ts';
import { startLoad } from './support/load.ts';
import { proveBackSoon, proveNothingLost } from './support/proof.ts';

const LOAD_MS = 10_000;
const CONCURRENCY = 4;

/** How its shape differs from the default. */
export const options = REPLICATION;

/** Kills the primary under load and promotes a standby with synchronous replication. */
export async function run(drill: Drill): Promise<void> {
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_MS / 2);
  const standby = await startStandby(drill, 'synchronous');
  try {
    await delay(LOAD_MS);
    const killedAtMs = await failOver(drill, standby);
    await proveBackSoon(drill, killedAtMs);
    await delay(LOAD_MS);
    await load.finish();
    await proveNothingLost(drill);
  } finally {
    await standby.link.stop();
    await standby.stop();
  }
}
