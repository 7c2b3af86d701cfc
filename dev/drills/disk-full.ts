import { ok } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inheritedEnvironment } from '../../src/settings.ts';
import { SetupError } from '../../src/setup-error.ts';
import type { RunOptions } from '../faults/run.ts';
import { makePrivateFolder } from '../files/private-file.ts';
import type { SeenAnswer } from '../load/client.ts';
import { untilDone } from '../load/simulator.ts';
import { canMount, onSmallDisk, smallDiskOf } from '../files/small-disk.ts';
import { startEmbeddedPostgres } from '../postgres/server.ts';
import { freePort } from '../processes/ports.ts';
import { postgresDataIn } from './support/base-backup.ts';
import type { Drill } from './support/load.ts';
import { inSeconds, prove, report } from './support/report.ts';

const DISK_KIB = 512 * 1024;
const FULL_MS = 30_000;
const BACK_WITHIN_MS = 30_000;
/** A failed call must be answered in time also while PostgreSQL starts again and again. */
const ANSWERED_WITHIN_MS = 5250;

/** The folder of the small disk of this process. */
const DISK = 'DRILL_DISK';
const disk = () => inheritedEnvironment()[DISK] ?? '';

/**
 * Runs this drill in another process that has a small disk of its own, which PostgreSQL uses: other processes
 * do not see it, and it disappears with the process.
 *
 * @returns false in that other process
 */
export async function isRunWithSmallDisk(): Promise<boolean> {
  if (disk() !== '') return false;
  if (!canMount()) throw new SetupError('No disk can be mounted here: run this drill as root');
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-disk-'));
  const command = [process.execPath, join(import.meta.dirname, '../drills.ts'), 'disk-full'];
  const [file = '', ...args] = onSmallDisk(folder, DISK_KIB, command);
  const child = spawn(file, args, {
    stdio: 'inherit',
    env: { ...inheritedEnvironment(), [DISK]: folder },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  await rm(folder, { recursive: true });
  if (code !== 0) throw new Error('A claim about the full disk does not hold: see above');
  return true;
}

/** Creates PostgreSQL's data on the disk. The shape finds it where it would create it. */
export async function onDisk(folder: string): Promise<RunOptions> {
  const dataDir = join(disk(), 'postgres');
  await chmod(disk(), 0o755);
  const { stop } = await startEmbeddedPostgres({
    dataDir,
    port: await freePort(),
    logFile: join(folder, 'first.log'),
    log: report,
  });
  await stop();
  makePrivateFolder(dirname(postgresDataIn(folder)));
  await symlink(dataDir, postgresDataIn(folder));
  // Little WAL, so that the disk needs no gigabyte for it.
  return { postgresSettings: { max_wal_size: '64MB', min_wal_size: '32MB' } };
}

/** Fills the file system of PostgreSQL under load, and frees it again. */
export async function diskFull(drill: Drill): Promise<void> {
  await drill.startLoad();
  const filler = smallDiskOf(process.pid, disk());
  filler.fill();
  const fullAtMs = Date.now();
  report('the disk of PostgreSQL is full');
  const first = await untilAnswered(drill, fullAtMs, (status) => status >= 500);
  report(`the first command fails ${inSeconds(first.atMs - fullAtMs)} later: ${first.message}`);
  await delay(FULL_MS);
  filler.free();
  const freeAtMs = Date.now();
  const { answers } = drill.merchant.client;
  const during = answers.filter(({ atMs, ms }) => atMs > first.atMs && atMs + ms < freeAtMs);
  const failed = during.filter(({ status }) => status >= 400 || status === 0);
  const slowestMs = Math.max(0, ...failed.map(({ ms }) => ms));
  prove(
    'What fails is answered with 500 within 5 s',
    failed.every(({ status }) => status === 500) && slowestMs <= ANSWERED_WITHIN_MS,
    `${failed.length} of ${during.length} answers, the slowest ${inSeconds(slowestMs)}`,
  );
  const next = await untilAnswered(drill, freeAtMs, (status) => status > 0 && status < 300);
  const backMs = next.atMs + next.ms - freeAtMs;
  const claim = `Commands succeed again within ${inSeconds(BACK_WITHIN_MS)}`;
  prove(claim, backMs <= BACK_WITHIN_MS, inSeconds(backMs));
}

/** The first answer with such a status to a command that was sent after a time, once there is one. */
const untilAnswered = (
  { merchant }: Drill,
  sinceMs: number,
  isSuch: (status: number) => boolean,
): Promise<SeenAnswer> =>
  untilDone(async () => {
    const found = merchant.client.answers.find(
      ({ method, atMs, status }) => method === 'POST' && atMs > sinceMs && isSuch(status),
    );
    ok(found, 'no command has had such an answer');
    return found;
  });
