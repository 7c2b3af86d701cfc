import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tryLock, type FileLock } from '../files/file-lock.ts';
import { makePrivateFolder, writePrivateFile } from '../files/private-file.ts';
import { GUARD_SCRIPT } from '../processes/guard.ts';
import { describeProcess } from '../processes/process-table.ts';
import type { Supervisor } from '../processes/supervisor.ts';
import { publishedFacts } from '../dev-facts.ts';
import { SetupError } from '../../src/setup-error.ts';

/** A run that is killed may hold its lock for a moment. */
const LOCK_TIMEOUT_MS = 2000;
/** Longer than a shutdown may take, and than a guard takes. */
const STOPPING_TIMEOUT_MS = 12_000;

/** The data directory of the embedded PostgreSQL. */
export const postgresFolder = (dataDir: string) => join(dataDir, 'postgres');
/** Everything of the development server of Temporal. */
export const temporalDatabase = (dataDir: string) => join(dataDir, 'temporal', 'temporal.db');

/**
 * Refuses a folder in which Temporal's data is in PostgreSQL: that of an earlier version of `npm start`,
 * or of the production-like shape.
 *
 * @throws SetupError
 */
export function requireCurrentDataDir(dataDir: string): void {
  if (!existsSync(join(dataDir, 'temporal', 'server.yaml'))) return;
  throw new SetupError(
    `DATA_DIR ${dataDir} keeps Temporal's data in PostgreSQL, as earlier versions did: remove it, or set DATA_DIR to another folder`,
  );
}

const holderFile = (dataDir: string) => join(dataDir, 'npm-start.pid');

/** The process ids of the run that has the data directory, or had it last, and of its guard. */
function readHolder(dataDir: string): string[] {
  const file = holderFile(dataDir);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ') : [];
}

async function waitForDataDirLock(
  dataDir: string,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<FileLock> {
  const startedAt = Date.now();
  let announced = false;
  for (;;) {
    signal.throwIfAborted();
    const lock = tryLock(join(dataDir, 'npm-start.lock'));
    if (lock !== undefined) return lock;
    const [pid = '?'] = readHolder(dataDir);
    const isReady = publishedFacts.exists(dataDir);
    if (Date.now() - startedAt > (isReady ? LOCK_TIMEOUT_MS : STOPPING_TIMEOUT_MS)) {
      throw new SetupError(
        `npm start already runs on DATA_DIR ${dataDir} (process ${pid}): stop it first, or set DATA_DIR to another folder`,
      );
    }
    if (!isReady && !announced) log(`Waiting for the previous run (process ${pid}) to stop …`);
    announced ||= !isReady;
    await delay(100);
  }
}

/** Waits until the guard of a run that was killed has ended the processes of that run. */
async function waitForGuard(dataDir: string, signal: AbortSignal): Promise<void> {
  const [, guardPid] = readHolder(dataDir);
  const deadline = Date.now() + STOPPING_TIMEOUT_MS;
  const runs = () => describeProcess(Number(guardPid))?.commandLine.includes(GUARD_SCRIPT);
  while (runs() && Date.now() < deadline) {
    signal.throwIfAborted();
    await delay(100);
  }
}

/**
 * Claims the data directory for this run until it is released, and creates it if necessary.
 *
 * @throws SetupError in one line when another run uses it, or it cannot be written to.
 */
export async function claimDataDir(
  dataDir: string,
  log: (line: string) => void,
  { signal, guard }: Supervisor,
): Promise<FileLock> {
  try {
    makePrivateFolder(dataDir);
    const lock = await waitForDataDirLock(dataDir, log, signal);
    await waitForGuard(dataDir, signal);
    writePrivateFile(holderFile(dataDir), `${process.pid} ${guard.pid}\n`);
    return lock;
  } catch (error) {
    if (error instanceof SetupError || signal.aborted) throw error;
    throw new SetupError(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
