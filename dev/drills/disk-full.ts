import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from '../../src/setup-error.ts';
import { withRun, type RunOptions } from '../faults/run.ts';
import { cacheRoot } from '../files/cache.ts';
import { makePrivateFolder } from '../files/private-file.ts';
import { canMount, onSmallDisk, smallDiskOf } from '../files/small-disk.ts';
import type { SeenAnswer as Answer } from '../load/client.ts';
import { startEmbeddedPostgres } from '../postgres/server.ts';
import { freePort } from '../processes/ports.ts';
import { startLoad, type Drill } from './support/load.ts';
import { postgresDataIn } from './support/postgres.ts';
import { proveBackSoon, proveNothingLost } from './support/proof.ts';
import { inSeconds, largest, prove, report, requireProved, waitFor } from './support/report.ts';

const DISK_KIB = 512 * 1024;
const CONCURRENCY = 4;
const LOAD_MS = 8000;
const FULL_MS = 30_000;
const FAILS_WITHIN_MS = 60_000;
/** A failed call must be answered in time also while PostgreSQL starts again and again. */
const ANSWERED_WITHIN_MS = 5250;

/** Little WAL, so that the disk needs no gigabyte for it. */
const POSTGRES_SETTINGS = { max_wal_size: '64MB', min_wal_size: '32MB' };

/**
 * Runs the drill in a process that has a small disk of its own, which PostgreSQL uses: other processes
 * do not see it, and it disappears with the process.
 */
export async function diskFull(): Promise<void> {
  if (!canMount()) throw new SetupError('No disk can be mounted here: run this drill as root');
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-disk-'));
  const command = [process.execPath, import.meta.filename, folder];
  const [file = '', ...args] = onSmallDisk(folder, DISK_KIB, command);
  const child = spawn(file, args, { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  await rm(folder, { recursive: true });
  if (code !== 0) throw new Error('A claim about the full disk does not hold: see above');
}

/** Creates PostgreSQL's data on the disk. The shape finds it where it would create it. */
async function prepareDisk(disk: string, dataDir: string): Promise<RunOptions> {
  await chmod(disk, 0o755);
  const onDisk = join(disk, 'postgres');
  const { stop } = await startEmbeddedPostgres({
    dataDir: onDisk,
    port: await freePort(),
    logFile: `${dirname(dataDir)}-first.log`,
    cacheRoot: cacheRoot(),
    log: report,
  });
  await stop();
  makePrivateFolder(dirname(dataDir));
  await symlink(onDisk, dataDir);
  return { postgresSettings: POSTGRES_SETTINGS, settings: { SWEEP_AFTER_SECONDS: '5' } };
}

/** Fills the file system of PostgreSQL under load, and frees it again. @param disk its folder */
async function runOn(drill: Drill, disk: string): Promise<void> {
  const { client: api } = drill.merchant;
  const filler = smallDiskOf(process.pid, disk);
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_MS);
  filler.fill();
  const fullAtMs = Date.now();
  report('the disk of PostgreSQL is full');
  const isFailing = ({ method, atMs, status }: Answer) =>
    method === 'POST' && atMs > fullAtMs && status >= 500;
  const first = await waitFor('a command fails', FAILS_WITHIN_MS, () =>
    api.answers.find(isFailing),
  );
  report(`the first command fails ${inSeconds(first.atMs - fullAtMs)} later: ${first.message}`);
  await delay(FULL_MS);
  filler.free();
  const freeAtMs = Date.now();
  const during = api.answers.filter(({ atMs, ms }) => atMs > first.atMs && atMs + ms < freeAtMs);
  const failed = during.filter(({ status }) => status >= 400 || status === 0);
  const slowest = largest(failed.map(({ ms }) => ms));
  prove(
    'What fails is answered with 500 within 5 s',
    failed.every(({ status }) => status === 500) && slowest <= ANSWERED_WITHIN_MS,
    `${failed.length} of ${during.length} answers, the slowest ${inSeconds(slowest)}`,
  );
  await proveBackSoon(drill, freeAtMs);
  const restarts = drill.cluster.members.map(({ name, restarts: count }) => `${name} ${count}`);
  report(`restarts by the supervisor: ${restarts.join(', ')}`);
  await delay(LOAD_MS);
  await load.finish();
  await proveNothingLost(drill);
}

/** This file as a program: the drill, in a process whose first argument is the folder of its small disk. */
if (import.meta.main) {
  const disk = process.argv[2] ?? '';
  try {
    await withRun(
      (folder) => prepareDisk(disk, postgresDataIn(folder)),
      (run) => runOn({ ...run, orders: [] }, disk),
    );
    requireProved();
    process.exit(0);
  } catch (error) {
    report(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  }
}
