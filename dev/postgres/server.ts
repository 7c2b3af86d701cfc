import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describeProcess, isZombie, type StopStep } from '../processes/process-table.ts';
import {
  lastLines,
  notStarted,
  startServerProcess,
  untilReady,
  type LaunchOptions,
  type ServerProcess,
} from '../processes/server-process.ts';
import { SetupError } from '../../src/setup-error.ts';
import { dataDirArgument, postgresAccount } from './account.ts';
import { preparePostgresBinaries } from './binaries.ts';
import { EMBEDDED_USER, ensureCluster, POSTGRES_ENVIRONMENT } from './cluster.ts';

/** Fast shutdown (without waiting for clients), then immediate shutdown, which needs a recovery. */
const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGINT', waitMs: 4000 },
  { signal: 'SIGQUIT', waitMs: 2000 },
];

/** How long the processes of a killed server may continue to use the data directory. */
const DATA_DIR_RELEASE_TIMEOUT_MS = 15_000;

/** Where the server stores its data, listens and logs. */
export interface EmbeddedPostgresOptions extends LaunchOptions {
  /** The server's own folder. Created on first use; under root it is given to another account. */
  readonly dataDir: string;
  readonly port: number;
  readonly log: (line: string) => void;
  /** Server settings, such as `{ fsync: 'off' }` for data that is thrown away. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/**
 * Removes a `postmaster.pid` whose process id now belongs to another program, as after a restart of
 * the machine, or to a killed server that its parent has not reaped yet. PostgreSQL checks only
 * whether a process with that id exists, and would refuse to start. It detects remaining processes
 * of a killed server by shared memory, without this file.
 */
function removeStalePidFile(dataDir: string): void {
  const file = join(dataDir, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
  const owner = describeProcess(pid)?.commandLine;
  if (owner === undefined && !isZombie(pid)) return; // PostgreSQL removes the file by itself.
  if (owner !== undefined && /(^|\/)postgres(ql)?\b/.test(owner)) {
    throw new SetupError(
      `Another PostgreSQL (process ${pid}) runs on ${dataDir}: stop it, or choose another DATA_DIR`,
    );
  }
  rmSync(file);
}

/** The check of `pg_ctl`: the eighth line of the pid file. */
function isReady(dataDir: string, pid: number): boolean {
  const file = join(dataDir, 'postmaster.pid');
  if (!existsSync(file)) return false;
  const lines = readFileSync(file, 'utf8').split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

/** Starts the server; retries while processes of a killed one still use the data directory. */
async function startWithRetry(
  options: EmbeddedPostgresOptions,
  start: () => Promise<ServerProcess>,
): Promise<ServerProcess> {
  const { dataDir, logFile, signal } = options;
  const deadline = Date.now() + DATA_DIR_RELEASE_TIMEOUT_MS;
  for (;;) {
    const server = await start();
    options.onSpawn?.(server);
    const isUp = await untilReady(server, {
      name: 'PostgreSQL',
      logFile,
      isReady: () => isReady(dataDir, server.pid),
      signal,
    });
    if (isUp) return server;
    const lines = lastLines(logFile);
    const stillHeld = lines.some((line) => line.includes('is still in use'));
    if (!stillHeld || Date.now() > deadline) {
      const reasons = lines.filter((line) => /FATAL|ERROR|PANIC|HINT/.test(line));
      throw notStarted('PostgreSQL', logFile, reasons);
    }
    await delay(200);
  }
}

/**
 * Starts PostgreSQL 18 on the loopback interface, with a password and its data in `dataDir`.
 *
 * The caller ensures that only one process at a time does this with a data directory.
 *
 * @throws SetupError with the cause and a remedy.
 */
export async function startEmbeddedPostgres(given: EmbeddedPostgresOptions) {
  const options = { ...given, dataDir: resolve(given.dataDir) };
  const { dataDir, port, log, logFile, signal, guard } = options;
  const { settings = {}, continueLog } = options;
  const account = postgresAccount(dataDir);
  const binaries = await preparePostgresBinaries(account, log);
  const sync = settings['fsync'] !== 'off';
  const password = await ensureCluster({ dataDir, binaries, account, sync, signal });
  removeStalePidFile(dataDir);
  const parameters = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...settings,
  };
  const server = await startWithRetry(options, () =>
    startServerProcess({
      ...account,
      file: binaries.postgres,
      args: [
        '-D',
        dataDirArgument(dataDir, account),
        ...Object.entries(parameters).map(([name, value]) => `--${name}=${value}`),
      ],
      env: POSTGRES_ENVIRONMENT,
      cwd: dataDir,
      logFile,
      continueLog,
      stopSteps: STOP_STEPS,
      guard,
    }),
  );
  return {
    ...server,
    /** The connection URL of the superuser, with its password: see `databases.ts` for other logins. */
    adminUrl: `postgres://${EMBEDDED_USER}:${password}@127.0.0.1:${port}/postgres`,
  };
}

/** A running server. */
export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;
