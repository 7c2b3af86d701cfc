import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stopOrphanedPostgres } from '../postgres/server.ts';
import { tryLock, type FileLock } from '../files/file-lock.ts';
import { makePrivateFolder, writePrivateFile } from '../files/private-file.ts';
import { endOrphans } from '../processes/process-table.ts';
import { SetupError } from '../../src/setup-error.ts';
import { stopOrphanedTemporal } from '../processes/temporal-process.ts';
import { runMarker } from './entries.ts';

/** The children of a killed run may hold its lock for a moment. */
const LOCK_TIMEOUT_MS = 2000;
/** Longer than a shutdown may take. */
const STOPPING_LOCK_TIMEOUT_MS = 12_000;

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

function readHolder(dataDir: string): { pid: string; stopping: boolean } {
  try {
    const [pid = '?', state] = readFileSync(holderFile(dataDir), 'utf8').trim().split(' ');
    return { pid, stopping: state === 'stopping' };
  } catch {
    return { pid: '?', stopping: false };
  }
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
    const { pid, stopping } = readHolder(dataDir);
    const waitedMs = Date.now() - startedAt;
    if (waitedMs > (stopping ? STOPPING_LOCK_TIMEOUT_MS : LOCK_TIMEOUT_MS)) {
      throw new SetupError(
        `npm start already runs on DATA_DIR ${dataDir} (process ${pid}): stop it first, or set DATA_DIR to another folder`,
      );
    }
    if (stopping && !announced) log(`Waiting for the previous run (process ${pid}) to stop …`);
    announced ||= stopping;
    await delay(100);
  }
}

/** Makes the next `npm start` wait for the end of this run instead of failing. */
function announceStop(dataDir: string): void {
  try {
    writePrivateFile(holderFile(dataDir), `${process.pid} stopping\n`);
  } catch {
    // On a full disk the next start fails instead of waiting.
  }
}

/**
 * Claims the data directory for this run until it is released, and creates it if necessary.
 *
 * @param signal aborted when the run begins to stop
 * @throws SetupError in one line when another run uses it, or it cannot be written to.
 */
export async function claimDataDir(
  dataDir: string,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<FileLock> {
  try {
    makePrivateFolder(dataDir);
    const lock = await waitForDataDirLock(dataDir, log, signal);
    writePrivateFile(holderFile(dataDir), `${process.pid}\n`);
    signal.addEventListener('abort', () => announceStop(dataDir));
    return lock;
  } catch (error) {
    if (error instanceof SetupError || signal.aborted) throw error;
    throw new SetupError(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/**
 * Stops the processes that a killed run left on this data directory.
 *
 * @param temporalMarker arguments of the command line of its Temporal
 */
export async function stopOrphans(
  dataDir: string,
  temporalMarker: readonly string[],
  log: (line: string) => void,
): Promise<void> {
  await endOrphans('A part', [runMarker(dataDir)], [{ signal: 'SIGTERM', waitMs: 3000 }], log);
  await stopOrphanedTemporal(temporalMarker, log);
  await stopOrphanedPostgres(postgresFolder(dataDir), log);
}
