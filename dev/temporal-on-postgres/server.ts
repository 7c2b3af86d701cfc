import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort, LOOPBACK } from '../processes/ports.ts';
import { writePrivateFile } from '../files/private-file.ts';
import { launchServer, type LaunchOptions } from '../processes/server-process.ts';
import {
  isTemporalServing,
  requireFreeTemporalPort,
  TEMPORAL_STOP_STEPS,
  withoutTemporalSettings,
  type TemporalClientTls,
  type TemporalServer,
} from '../processes/temporal-process.ts';
import { databaseUrl, withConnection } from '../postgres/databases.ts';
import type { TemporalServerPrograms } from './programs.ts';
import { ensureTemporalSchema } from './schema.ts';
import {
  PORT_PAIRS,
  temporalDynamicConfig,
  temporalServerConfig,
  type TemporalServerSettings,
  type TemporalTls,
} from './server-config.ts';

/** How to run the server. */
export interface TemporalServerOptions extends TemporalServerSettings, LaunchOptions {
  readonly programs: TemporalServerPrograms;
  /** The folder of the server's settings. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The server's own certificate, as a client of it. */
function clientTls({ certFile, keyFile, caFile, serverName }: TemporalTls): TemporalClientTls {
  return {
    serverNameOverride: serverName,
    serverRootCACertificate: readFileSync(caFile),
    clientCertPair: { crt: readFileSync(certFile), key: readFileSync(keyFile) },
  };
}

/**
 * Deletes the cluster members of an earlier run from the database: this run has other ports and would
 * try to join them.
 */
async function clearClusterMembership({ adminUrl, login }: TemporalServerOptions): Promise<void> {
  const url = databaseUrl(adminUrl, 'temporal', login);
  await withConnection(url, (sql) => sql`TRUNCATE cluster_membership`);
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
  writePrivateFile(dynamicConfigFile, temporalDynamicConfig());
  writePrivateFile(
    join(folder, 'server.yaml'),
    temporalServerConfig(options, pairs, dynamicConfigFile),
  );
}

/**
 * Creates Temporal's databases on a PostgreSQL and writes the settings of a server, with ports that it
 * has at every start.
 *
 * The caller ensures that only one process at a time does this with a folder.
 *
 * @throws SetupError with the cause and a remedy.
 */
export async function prepareTemporalServer(options: TemporalServerOptions): Promise<void> {
  const { programs, port } = options;
  await requireFreeTemporalPort(port);
  const env = withoutTemporalSettings(options.env);
  await ensureTemporalSchema({ ...options, sqlTool: programs.sqlTool, env });
  await clearClusterMembership(options);
  await writeConfig(options);
}

/**
 * Starts a prepared server on the loopback interface, and waits until it responds. It has only the
 * system namespace: see `ensureNamespace`.
 *
 * @throws SetupError when it ends instead, or does not respond within two minutes.
 */
export async function launchTemporalServer(
  options: TemporalServerOptions,
): Promise<TemporalServer> {
  const { programs, folder, port, tls } = options;
  const asClient = tls && clientTls(tls);
  const server = await launchServer(
    'Temporal',
    {
      file: programs.server,
      // It reads `server.yaml` in the folder.
      args: [
        '--root',
        resolve(folder),
        '--config',
        '.',
        '--env',
        'server',
        '--allow-no-auth',
        'start',
      ],
      env: withoutTemporalSettings(options.env),
      stopSteps: TEMPORAL_STOP_STEPS,
    },
    options,
    () => isTemporalServing(port, asClient),
  );
  return { ...server, address: `${LOOPBACK}:${port}` };
}

/** Prepares and starts the Temporal server: see the two functions above. */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  await prepareTemporalServer(options);
  return launchTemporalServer(options);
}
