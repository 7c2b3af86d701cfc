import { readFileSync } from 'node:fs';
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
  type TemporalServerSettings,
  type TemporalTls,
} from './server-config.ts';

/** The server ends within about a second; all acknowledged writes are in PostgreSQL. */
const STOP_STEPS: readonly StopStep[] = [{ signal: 'SIGTERM', waitMs: 3000 }];

/** Long enough for a busy machine. */
const START_TIMEOUT_MS = 60_000;

/** A server that is frozen accepts calls and does not respond. */
const CALL_TIMEOUT_MS = 3000;

/** How to run the server. */
export interface TemporalServerOptions extends TemporalServerSettings {
  readonly programs: TemporalServerPrograms;
  /** The folder of the server's settings, by which the next run finds an orphan. */
  readonly folder: string;
  /** For namespaces that are used immediately after creation: see `temporalDynamicConfig`. */
  readonly immediateSearchAttributes?: boolean;
  readonly logFile: string;
  readonly continueLog?: boolean | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly guard?: Guard | undefined;
  /** Called with the process before it is ready. */
  readonly onSpawn?: ((process: ServerProcess) => void) | undefined;
}

/** A running server. */
export interface TemporalServer extends Pick<ServerProcess, 'pid' | 'exited' | 'stop'> {
  /** host:port of the gRPC service. */
  readonly address: string;
}

/** Stops a server or Web UI that a killed run left with this folder. */
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

/** The arguments with which a program of Temporal reads `NAME.yaml` in a folder. */
export function configArguments(folder: string, name: string): string[] {
  return ['--root', resolve(folder), '--config', '.', '--env', name];
}

/** The environment without our TEMPORAL_* settings, which Temporal's programs would also read. */
export function withoutTemporalSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

/** The server's own certificate, as a client of it. */
function clientTls({ certFile, keyFile, caFile, serverName }: TemporalTls) {
  return {
    serverNameOverride: serverName,
    serverRootCACertificate: readFileSync(caFile),
    clientCertPair: { crt: readFileSync(certFile), key: readFileSync(keyFile) },
  };
}

/** Whether the server on a port of this machine responds to the first call of a client. */
export async function isTemporalServing(port: number, tls?: TemporalTls): Promise<boolean> {
  // A gRPC channel waits a second after a refused connection, a plain socket does not.
  if (!(await acceptsConnections(TEMPORAL_HOST, port))) return false;
  let connection: Connection | undefined;
  try {
    const { workflowService } = (connection = await Connection.connect({
      address: `${TEMPORAL_HOST}:${port}`,
      connectTimeout: 1000,
      ...(tls && { tls: clientTls(tls) }),
    }));
    await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
      workflowService.describeNamespace({ namespace: 'temporal-system' }),
    );
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

async function waitUntilReady(
  server: ServerProcess,
  options: TemporalServerOptions,
): Promise<void> {
  const { logFile, port, tls, signal } = options;
  let ended = false;
  void server.exited.then(() => (ended = true));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isTemporalServing(port, tls))) {
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
 * Deletes the cluster members of an earlier run from the database: this run has other ports and would
 * try to join them.
 */
async function clearClusterMembership({ adminUrl, login }: TemporalServerOptions): Promise<void> {
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
  const pairs = await Promise.all(
    Array.from({ length: PORT_PAIRS }, async () => ({
      grpcPort: await freePort(),
      membershipPort: await freePort(),
    })),
  );
  const dynamicConfigFile = join(folder, 'dynamic-config.yaml');
  const { immediateSearchAttributes = false } = options;
  writePrivateFile(dynamicConfigFile, temporalDynamicConfig(immediateSearchAttributes));
  writePrivateFile(
    join(folder, 'server.yaml'),
    temporalServerConfig(options, pairs, dynamicConfigFile),
  );
}

/**
 * Creates Temporal's databases on a PostgreSQL and writes the settings of a server, with ports that it
 * has at every start. First stops a server that a killed run left there.
 *
 * The caller ensures that only one process at a time does this with a folder.
 *
 * @throws SetupError with the cause and a remedy.
 */
export async function prepareTemporalServer(options: TemporalServerOptions): Promise<void> {
  const { programs, folder, port, log } = options;
  await stopOrphanedTemporal(folder, log);
  if (await acceptsConnections(TEMPORAL_HOST, port)) {
    // Another Temporal on this port would respond instead of the new server.
    throw new SetupError(`Temporal cannot start: port ${port} is already in use`);
  }
  const env = withoutTemporalSettings(options.env);
  await ensureTemporalSchema({ ...options, sqlTool: programs.sqlTool, env });
  await clearClusterMembership(options);
  await writeConfig(options);
}

/**
 * Starts a prepared server on the loopback interface, and waits until it responds. It has only the
 * system namespace: see `ensureNamespace`.
 *
 * @throws SetupError when it ends instead, or does not respond within a minute.
 */
export async function launchTemporalServer(
  options: TemporalServerOptions,
): Promise<TemporalServer> {
  const { programs, folder, port, logFile, continueLog, guard } = options;
  const server = await startServerProcess({
    file: programs.server,
    args: [...configArguments(folder, 'server'), '--allow-no-auth', 'start'],
    env: withoutTemporalSettings(options.env),
    logFile,
    continueLog,
    stopSteps: STOP_STEPS,
    guard,
  });
  options.onSpawn?.(server);
  try {
    await waitUntilReady(server, options);
  } catch (error) {
    await server.stop();
    throw error;
  }
  const { pid, exited, stop } = server;
  return { address: `${TEMPORAL_HOST}:${port}`, pid, exited, stop };
}

/** Prepares and starts the Temporal server: see the two functions above. */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  await prepareTemporalServer(options);
  return launchTemporalServer(options);
}
