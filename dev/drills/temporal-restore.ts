import { setTimeout as delay } from 'node:timers/promises';
import type { Drill } from './support/cluster.ts';
import { startLoad } from './support/load.ts';
import { namesOf, startMembers, stopMembers } from './support/members.ts';
import { proveNothingLost } from './support/proof.ts';
import { recoverAll } from './support/recover.ts';
import { archiveEverything, archiving, backUp, restoreAside } from './support/restore.ts';

const LOAD_MS = 12_000;
const CONCURRENCY = 4;
const MINUTE_MS = 60_000;

/** How its shape differs from the default. */
export const options = archiving(60);

/**
 * Restores Temporal's databases as they were at an earlier time, while the service's database is
 * current. Orders that Temporal has lost entirely get a new workflow; others adopt their steps.
 */
export async function run(drill: Drill): Promise<void> {
  const { cluster } = drill;
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_MS / 2);
  await backUp(drill);
  await delay(LOAD_MS / 2);
  const targetMs = Date.now();
  await delay(LOAD_MS);
  await archiveEverything(drill);
  // Workers keep workflows in memory as they were before the restore.
  await stopMembers(drill, [...namesOf(drill, 'worker'), 'temporal']);
  const { address } = await restoreAside(drill, targetMs);
  cluster.link('temporal', 'postgres').retarget(address);
  await cluster.member('temporal').start();
  await startMembers(drill, namesOf(drill, 'worker'));
  await recoverAll(drill, targetMs - MINUTE_MS);
  await load.finish();
  await proveNothingLost(drill, { missingWorkflows: true });
}
