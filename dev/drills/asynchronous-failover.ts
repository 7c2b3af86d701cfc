import { setTimeout as delay } from 'node:timers/promises';
import type { Drill } from './support/cluster.ts';
import { failOver, REPLICATION, startStandby } from './support/failover.ts';
import { startLoad } from './support/load.ts';
import { namesOf, startMembers, stopMembers } from './support/members.ts';
import { lostSteps, proveNothingLost, repeatLostCalls } from './support/proof.ts';
import { recoverAll } from './support/recover.ts';
import { inSeconds, prove, report } from './support/report.ts';

const LOAD_MS = 10_000;
const CONCURRENCY = 4;
/** How far the standby is behind when the primary is killed. */
const LAG_MS = 3000;

/** How its shape differs from the default. */
export const options = REPLICATION;

/**
 * Kills the primary under load while a standby with asynchronous replication is seconds behind. What was
 * acknowledged in these seconds is lost by the service and by Temporal; the gateway still has it.
 */
export async function run(drill: Drill): Promise<void> {
  const startedAtMs = Date.now();
  const load = startLoad(drill, CONCURRENCY);
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
    const backAtMs = Date.now();
    report(`back ${inSeconds(backAtMs - killedAtMs)} after the primary was killed`);
    await load.finish();
    const { orders, withSql } = drill;
    const { lost: early } = await withSql((sql) => lostSteps(sql, orders, behindSinceMs));
    const { lost } = await withSql((sql) => lostSteps(sql, orders, killedAtMs));
    prove('Nothing is lost from before the standby was behind', early.length === 0);
    report(`${lost.length} acknowledged steps are lost with a standby ${inSeconds(LAG_MS)} behind`);
    await recoverAll(drill, startedAtMs);
    await repeatLostCalls(drill);
    await proveNothingLost(drill, {
      alerts: true,
      lost: [{ fromMs: behindSinceMs, toMs: backAtMs }],
      missingWorkflows: true,
    });
  } finally {
    await standby.link.stop();
    await standby.stop();
  }
}
