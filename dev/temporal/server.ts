import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import postgres from 'postgres';
import type { Guard } from '../processes/guard.ts';
import { acceptsConnections, freePort } from '../processes/ports.ts';
import { writePrivateFile } from '../files/private-file.ts';
import { endProcess, findProcesses, type StopStep } from '../processes/process-table.ts';
import { lastLines, startServerProcess, type ServerProcess } from '../processes/server-process.ts';
import { SetupError } from '../../src/setup-error.ts';
import { databaseUrl } from '../postgres/databases.ts';
import type { TemporalServerPrograms } from './programs.ts';
import { ensureTemporalSchema } from './schema.ts';
import {
  PORT_PAIRS,
  temporalDynamicConfig,
  temporalServerConfig,
  TEMPORAL_HOST,
  type TemporalDatabase,
} from './server-config.ts';

/** It ends within about a second; what it has acknowledged is in PostgreSQL. */
const STOP_STEPS: readonly StopStep[] = [{ signal: 'SIGTERM', waitMs: 3000 }];

/** A minute, for a machine that is busy with other things. */
const START_TIMEOUT_MS = 60_000;

/** How the server runs. */
export interface TemporalServerOptions extends TemporalDatabase {
  readonly programs: TemporalServerPrograms;
  /** The server's own folder: its settings, which also tell the next run whose process it is. */
  readonly folder: string;
  readonly port: number;
  /** For namespaces that are used as soon as they are made: see `temporalDynamicConfig`. */
  readonly searchAttributesAtOnce?: boolean;
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly guard?: Guard | undefined;
}

/** A running server. */
export interface TemporalServer extends Pick<ServerProcess, 'pid' | 'exited' | 'stop'> {
  /** host:port of the gRPC service. */
  readonly address: string;
}

/** Ends a server or Web UI that a killed run left with this folder. */
export async function stopOrphanedTemporal(
  folder: string,
  log: (line: string) => void,
): Promise<void> {
  const orphans = findProcesses('--root', resolve(folder));
  await Promise.all(
    orphans.map(async (pid) => {
      log(`Temporal of an earlier run (process ${pid}) is still there: stopping it`);
      await endProcess(pid, STOP_STEPS);
    }),
  );
}

/** What tells a program of Temporal to read `NAME.yaml` of a folder. */
export function configArguments(folder: string, name: string): string[] {
  return ['--root', resolve(folder), '--config', '.', '--env', name];
}

/** The environment without settings for Temporal, which the programs would read as their own. */
export function withoutTemporalSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

/** Asks what a client's first call asks. */
async function answers(port: number): Promise<boolean> {
  // A gRPC channel that is refused once waits a second before it tries again.
  if (!(await acceptsConnections(TEMPORAL_HOST, port))) return false;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({
      address: `${TEMPORAL_HOST}:${port}`,
      connectTimeout: 1000,
    });
    await connection.workflowService.describeNamespace({ namespace: 'temporal-system' });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

async function untilReady(server: ServerProcess, options: TemporalServerOptions): Promise<void> {
  const { logFile, port, signal } = options;
  let ended = false;
  void server.exited.then(() => (ended = true));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers(port))) {
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
 * Forgets the members of an earlier run. They stay in the database for a while, and this run, on
 * other ports, would try to join them.
 */
async function forgetMembers({ adminUrl, login }: TemporalServerOptions): Promise<void> {
  const sql = postgres(databaseUrl(adminUrl, 'temporal', login), { max: 1, onnotice: () => {} });
  try {
    await sql`TRUNCATE cluster_membership`;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Writes the settings, with ports that are free at this moment. */
async function writeConfig(options: TemporalServerOptions): Promise<void> {
  const folder = resolve(options.folder);
  const ports = new Set<number>();
  while (ports.size < 2 * PORT_PAIRS) ports.add(await freePort());
  const numbers = [...ports];
  const pairs = Array.from({ length: PORT_PAIRS }, (_, index) => ({
    grpcPort: numbers[2 * index] ?? 0,
    membershipPort: numbers[2 * index + 1] ?? 0,
  }));
  const dynamicConfigFile = join(folder, 'dynamic-config.yaml');
  const { searchAttributesAtOnce = false } = options;
  writePrivateFile(dynamicConfigFile, temporalDynamicConfig(searchAttributesAtOnce));
  writePrivateFile(
    join(folder, 'server.yaml'),
    temporalServerConfig(options, options.port, pairs, dynamicConfigFile),
  );
}

/**
 * Starts the Temporal server on the loopback interface, its data in databases of its own on a
 * PostgreSQL, and waits until it answers. It has no namespace but its own: see `ensureNamespace`.
 *
 * The caller sees to it that one process at a time does this with a folder. A server that a killed
 * run left there is stopped first.
 *
 * @throws SetupError with what went wrong and what to do about it.
 */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  const { programs, folder, port, log, logFile, guard } = options;
  const env = withoutTemporalSettings(options.env);
  await stopOrphanedTemporal(folder, log);
  if (await acceptsConnections(TEMPORAL_HOST, port)) {
    // Another Temporal there would answer in our server's place.
    throw new SetupError(`Temporal cannot start: port ${port} is already in use`);
  }
  await ensureTemporalSchema({ ...options, sqlTool: programs.sqlTool, env });
  await forgetMembers(options);
  await writeConfig(options);
  const server = await startServerProcess({
    file: programs.server,
    args: [...configArguments(folder, 'server'), '--allow-no-auth', 'start'],
    env,
    logFile,
    stopSteps: STOP_STEPS,
    guard,
  });
  try {
    await untilReady(server, options);
  } catch (error) {
    await server.stop();
    throw error;
  }
  const { pid, exited, stop } = server;
  return { address: `${TEMPORAL_HOST}:${port}`, pid, exited, stop };
}
