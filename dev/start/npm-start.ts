import { findTemporalCli } from '../temporal/command-line.ts';
import { startDevelopmentServer } from '../temporal/development-server.ts';
import { cacheRoot } from '../files/cache.ts';
import { localUrl, LOOPBACK } from '../processes/ports.ts';
import type { DevConfig } from '../config.ts';
import { readyText } from './announce.ts';
import { requireCurrentDataDir, temporalDatabase } from './data-dir.ts';
import { logFileOf, type Entry } from './entries.ts';
import { keepsMails, simulatesGateway } from './environment.ts';
import {
  prepareRun,
  publishFacts,
  serviceDatabase,
  startPostgres,
  startService,
  type PreparedRun,
  type Run,
} from './run-service.ts';

/** The processes beside the servers. */
function entriesOf(config: DevConfig): Entry<string>[] {
  const readyUrl = `${localUrl(config.host, config.port)}/readyz`;
  return [
    { name: 'API', entry: 'src/main/api.ts', readyUrl, showsOrders: true },
    { name: 'Worker', entry: 'src/main/worker.ts' },
    ...(simulatesGateway(config)
      ? [{ name: 'Gateway simulator', entry: 'dev/gateway-simulator.ts', showsOrders: true }]
      : []),
    // On the loopback wherever the API listens: its page shows every mail to its visitors.
    ...(keepsMails(config)
      ? [{ name: 'Mailbox', entry: 'dev/mailbox.ts', env: { HOST: LOOPBACK } }]
      : []),
  ];
}

/** The service's database, on a PostgreSQL of this run unless the settings give one. */
async function database(run: PreparedRun) {
  const { databaseUrl, migrationDatabaseUrl } = run.config;
  if (databaseUrl !== undefined) return { databaseUrl, migrationDatabaseUrl };
  return serviceDatabase(run, await startPostgres(run, 'PostgreSQL'));
}

/** Temporal's development server, which is also the Web UI, unless the settings give a server. */
async function temporal({ config, env, supervisor, log, whenItEnds }: PreparedRun) {
  const { temporalAddress, temporalPort: port, temporalUiPort: uiPort } = config;
  if (temporalAddress !== undefined) return { temporalAddress, temporalUiUrl: undefined };
  const { guard, signal } = supervisor;
  const logFile = logFileOf(config.dataDir, 'temporal');
  const databaseFile = temporalDatabase(config.dataDir);
  const shared = { env, log, guard, signal };
  const cli = await findTemporalCli({ ...shared, cacheRoot: cacheRoot() });
  const launch = (_: unknown, onSpawn: Parameters<typeof startDevelopmentServer>[0]['onSpawn']) =>
    startDevelopmentServer({ ...shared, cli, databaseFile, port, uiPort, logFile, onSpawn });
  await supervisor.start([{ name: 'Temporal', logFile, whenItEnds, launch }]);
  return {
    temporalAddress: `${LOOPBACK}:${port}`,
    temporalUiUrl: localUrl(LOOPBACK, uiPort),
  };
}

/**
 * Starts everything on this machine: the servers side by side, then the migrations, then the demo
 * merchant and the rest. Publishes the facts and prints the ready text.
 *
 * @throws SetupError when a process cannot be started
 */
export async function startAll(options: Omit<Run, 'whenItEnds'>): Promise<void> {
  const startedAt = performance.now();
  const { config, log } = options;
  if (config.temporalAddress === undefined) requireCurrentDataDir(config.dataDir);
  const run = await prepareRun({ ...options, whenItEnds: 'the run ends' });
  log('Starting …');
  const [databases, addresses] = await Promise.all([database(run), temporal(run)]);
  const servers = { ...databases, ...addresses };
  const hasDemoOrders = config.demoOrders === 'on' && simulatesGateway(config);
  const environment = await startService(run, servers, () => entriesOf(config), hasDemoOrders);
  const facts = publishFacts(run, servers, environment);
  log(readyText(facts, config, performance.now() - startedAt));
}
