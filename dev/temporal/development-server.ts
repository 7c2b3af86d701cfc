import { dirname, resolve } from 'node:path';
import { makePrivateFolder } from '../files/private-file.ts';
import { LOOPBACK } from '../processes/ports.ts';
import { launchServer, type LaunchOptions } from '../processes/server-process.ts';
import {
  isTemporalServing,
  requireFreeTemporalPort,
  TEMPORAL_STOP_STEPS,
  withoutTemporalSettings,
  type TemporalServer,
} from '../processes/temporal-process.ts';

/** Dynamic settings of the server, beside those of `temporal server start-dev` itself. */
const DYNAMIC_SETTINGS = {
  'system.namespaceCacheRefreshInterval': '"1s"',
  // Without it, a worker that stops can still be given tasks, which wait until they time out.
  'frontend.enableCancelWorkerPollsOnShutdown': 'true',
};

/** How to run the development server. */
export interface DevelopmentServerOptions extends LaunchOptions {
  /** The path of Temporal's command line. */
  readonly cli: string;
  /** The SQLite file with everything; undefined: in memory, until the server ends. */
  readonly databaseFile: string | undefined;
  /** Of its gRPC service. */
  readonly port: number;
  /** Of the Web UI. */
  readonly uiPort: number;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Starts Temporal's development server, with its Web UI, on the loopback interface, and waits until it
 * responds.
 *
 * @throws SetupError when it ends instead, or does not respond within two minutes
 */
export async function startDevelopmentServer(
  options: DevelopmentServerOptions,
): Promise<TemporalServer> {
  const { cli, databaseFile, port, uiPort, env } = options;
  await requireFreeTemporalPort(port);
  if (databaseFile !== undefined) makePrivateFolder(dirname(databaseFile));
  const dynamicSettings = Object.entries(DYNAMIC_SETTINGS).flatMap(([name, value]) => [
    '--dynamic-config-value',
    `${name}=${value}`,
  ]);
  const server = await launchServer(
    'Temporal',
    {
      file: cli,
      args: [
        'server',
        'start-dev',
        '--ip',
        LOOPBACK,
        '--port',
        String(port),
        '--ui-port',
        String(uiPort),
        ...(databaseFile === undefined ? [] : ['--db-filename', resolve(databaseFile)]),
        '--log-level',
        'warn',
        '--log-format',
        'json',
        '--ui-disable-news-fetch',
        ...dynamicSettings,
      ],
      env: withoutTemporalSettings(env),
      stopSteps: TEMPORAL_STOP_STEPS,
    },
    options,
    () => isTemporalServing(port),
  );
  return { ...server, address: `${LOOPBACK}:${port}` };
}
