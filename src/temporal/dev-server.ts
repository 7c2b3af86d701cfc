import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Guard } from '../local/guard.ts';
import { acceptsConnections } from '../local/ports.ts';
import { makePrivateFolder } from '../local/private-file.ts';
import { endProcess, findProcesses, type StopStep } from '../local/process-table.ts';
import { lastLines, startServerProcess, type ServerProcess } from '../local/server-process.ts';
import { SetupError } from '../local/setup-error.ts';

/** It ends within about a second; its database survives a kill. */
const STOP_STEPS: readonly StopStep[] = [{ signal: 'SIGTERM', waitMs: 3000 }];

/** A minute, for a machine that is busy with other things. */
const START_TIMEOUT_MS = 60_000;
const HOST = '127.0.0.1';

/** A search attribute as the server's command line names its types. */
export interface DevServerSearchAttribute {
  readonly name: string;
  readonly type: 'Text' | 'Keyword' | 'Int' | 'Double' | 'Bool' | 'Datetime' | 'KeywordList';
}

/** How the development server runs. */
export interface TemporalDevServerOptions {
  /** The Temporal CLI: see `findTemporalCli`. */
  readonly executable: string;
  readonly port: number;
  /** The Web UI's port; without one there is no Web UI. */
  readonly uiPort?: number;
  /** Keeps everything from one run to the next; without it all is lost with the process. */
  readonly databaseFile?: string;
  readonly namespace?: string;
  /**
   * Registered with a new database. An existing one stays as it is, whatever it has or lacks: only
   * the operator service adds to it.
   */
  readonly searchAttributes?: readonly DevServerSearchAttribute[];
  readonly dynamicConfig?: Readonly<Record<string, unknown>>;
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly guard?: Guard | undefined;
}

/** A running development server. */
export interface TemporalDevServer extends Pick<ServerProcess, 'pid' | 'exited' | 'stop'> {
  /** host:port of the gRPC service. */
  readonly address: string;
  readonly uiUrl: string | undefined;
}

/** Names the database on the command line, which is also how an orphan is known. */
const databaseArgument = (databaseFile: string) => `--db-filename=${resolve(databaseFile)}`;

/** Ends a server that a killed run left on this database. */
export async function stopOrphanedTemporal(
  databaseFile: string,
  log: (line: string) => void,
): Promise<void> {
  for (const pid of findProcesses('start-dev', databaseArgument(databaseFile))) {
    log(`Temporal of an earlier run (process ${pid}) is still there: stopping it`);
    await endProcess(pid, STOP_STEPS);
  }
}

function serverArguments(options: TemporalDevServerOptions): string[] {
  const { port, uiPort, databaseFile, namespace = 'default' } = options;
  const { searchAttributes = [], dynamicConfig = {} } = options;
  return [
    'server',
    'start-dev',
    `--ip=${HOST}`,
    `--port=${port}`,
    `--namespace=${namespace}`,
    '--log-level=warn',
    '--color=never',
    ...(uiPort === undefined ? ['--headless'] : [`--ui-port=${uiPort}`]),
    ...(databaseFile === undefined ? [] : [databaseArgument(databaseFile)]),
    ...searchAttributes.map(({ name, type }) => `--search-attribute=${name}=${type}`),
    ...Object.entries(dynamicConfig).map(
      ([key, value]) => `--dynamic-config-value=${key}=${JSON.stringify(value)}`,
    ),
  ];
}

/** The environment without settings for Temporal clients, which the CLI would read as its own. */
function serverEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

/**
 * Asks what a client's first call asks, and for the namespace and the search attributes, which
 * appear a moment later.
 */
async function answers(
  { port, namespace = 'default' }: TemporalDevServerOptions,
  expectedAttributes: readonly DevServerSearchAttribute[],
): Promise<boolean> {
  // A gRPC channel that is refused once waits a second before it tries again.
  if (!(await acceptsConnections(HOST, port))) return false;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address: `${HOST}:${port}`, connectTimeout: 1000 });
    await connection.workflowService.describeNamespace({ namespace });
    if (expectedAttributes.length === 0) return true;
    const known = await connection.operatorService.listSearchAttributes({ namespace });
    return expectedAttributes.every(({ name }) => Object.hasOwn(known.customAttributes, name));
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

async function waitUntilReady(
  server: ServerProcess,
  options: TemporalDevServerOptions,
  expectedAttributes: readonly DevServerSearchAttribute[],
): Promise<void> {
  const { logFile, signal } = options;
  let ended = false;
  void server.exited.then(() => (ended = true));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers(options, expectedAttributes))) {
    signal?.throwIfAborted();
    if (ended) {
      throw new SetupError(
        `Temporal did not start: ${lastLines(logFile, 2).join(' ')} (its log: ${logFile})`,
      );
    }
    if (Date.now() > deadline) {
      throw new SetupError(`Temporal is not ready after a minute; its log: ${logFile}`);
    }
    await delay(50);
  }
}

/**
 * Starts Temporal's development server on the loopback interface and waits until it answers.
 *
 * The caller sees to it that one process at a time does this with a database file. A server that a
 * killed run left there is stopped first.
 *
 * @throws SetupError with what went wrong and what to do about it.
 */
export async function startTemporalDevServer(
  options: TemporalDevServerOptions,
): Promise<TemporalDevServer> {
  const { executable, port, uiPort, databaseFile, log, logFile, env, guard } = options;
  if (databaseFile !== undefined) {
    await stopOrphanedTemporal(databaseFile, log);
    makePrivateFolder(dirname(databaseFile));
  }
  if (await acceptsConnections(HOST, port)) {
    // Another Temporal there would answer in our server's place.
    throw new SetupError(`Temporal cannot start: port ${port} is already in use`);
  }
  const isNew = databaseFile === undefined || !existsSync(databaseFile);
  const server = await startServerProcess({
    file: executable,
    args: serverArguments(options),
    env: serverEnvironment(env),
    logFile,
    stopSteps: STOP_STEPS,
    guard,
  });
  try {
    await waitUntilReady(server, options, isNew ? (options.searchAttributes ?? []) : []);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    address: `${HOST}:${port}`,
    uiUrl: uiPort === undefined ? undefined : `http://${HOST}:${uiPort}`,
    pid: server.pid,
    exited: server.exited,
    stop: server.stop,
  };
}
