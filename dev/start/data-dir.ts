import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stopOrphanedPostgres } from '../postgres/server.ts';
import { tryLock, type FileLock } from '../files/file-lock.ts';
import { makePrivateFolder, writePrivateFile } from '../files/private-file.ts';
import { endProcess, findProcesses } from '../processes/process-table.ts';
import { SetupError } from '../../src/setup-error.ts';
import { stopOrphanedTemporal } from '../temporal/server.ts';
import { runMarker } from './parts.ts';

/** Just killed, the previous run is gone before its lock and its children are. */
const PATIENCE_MS = 2000;
/** What a shutdown may take, and a little more. */
const STOPPING_PATIENCE_MS = 12_000;

/** Where PostgreSQL keeps its data, and Temporal its settings. */
export const postgresFolder = (dataDir: string) => join(dataDir, 'postgres');
export const temporalFolder = (dataDir: string) => join(dataDir, 'temporal');

const holderFile = (dataDir: string) => join(dataDir, 'npm-start.pid');

/** The data directory, ours alone until it is released. */
export interface DataDirClaim extends FileLock {
  /** Lets the next `npm start` wait for us instead of giving up. */
  announceStop(): void;
}

function holderOf(dataDir: string): { pid: string; stopping: boolean } {
  try {
    const [pid = '?', state] = readFileSync(holderFile(dataDir), 'utf8').trim().split(' ');
    return { pid, stopping: state === 'stopping' };
  } catch {
    return { pid: '?', stopping: false };
  }
}

async function lockPatiently(
  dataDir: string,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<FileLock> {
  const startedAt = Date.now();
  let told = false;
  for (;;) {
    signal.throwIfAborted();
    const lock = tryLock(join(dataDir, 'npm-start.lock'));
    if (lock !== undefined) return lock;
    const { pid, stopping } = holderOf(dataDir);
    const waitedMs = Date.now() - startedAt;
    if (waitedMs > (stopping ? STOPPING_PATIENCE_MS : PATIENCE_MS)) {
      throw new SetupError(
        `npm start already runs on DATA_DIR ${dataDir} (process ${pid}): stop it first, or set DATA_DIR to another folder`,
      );
    }
    if (stopping && !told) log(`Waiting for the previous run (process ${pid}) to stop …`);
    told ||= stopping;
    await delay(100);
  }
}

/**
 * Takes the data directory for this run, creating it if need be.
 *
 * @throws SetupError in one line when another run has it, or it cannot be written to.
 */
export async function claimDataDir(
  dataDir: string,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<DataDirClaim> {
  try {
    makePrivateFolder(dataDir);
    const lock = await lockPatiently(dataDir, log, signal);
    writePrivateFile(holderFile(dataDir), `${process.pid}\n`);
    return {
      release: () => lock.release(),
      announceStop: () => writePrivateFile(holderFile(dataDir), `${process.pid} stopping\n`),
    };
  } catch (error) {
    if (error instanceof SetupError || signal.aborted) throw error;
    throw new SetupError(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Ends whatever a killed run on this data directory left behind. */
export async function stopOrphans(dataDir: string, log: (line: string) => void): Promise<void> {
  const parts = findProcesses(runMarker(dataDir));
  if (parts.length > 0) log(`Parts of an earlier run (${parts.join(', ')}) are still there`);
  await Promise.all(parts.map((pid) => endProcess(pid, [{ signal: 'SIGTERM', waitMs: 3000 }])));
  await stopOrphanedTemporal(temporalFolder(dataDir), log);
  await stopOrphanedPostgres(postgresFolder(dataDir), log);
}
