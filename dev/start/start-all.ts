import type { DevConfig } from '../config.ts';
import {
  readDemoMerchant,
  readDemoUsers,
  removeDevFacts,
  writeDevFacts,
  type DevFacts,
} from '../dev-facts.ts';
import type { Guard } from '../processes/guard.ts';
import { requireFreePorts } from '../processes/ports.ts';
import { overridden } from '../../src/settings.ts';
import { SetupError } from '../../src/setup-error.ts';
import { requireTemporalCliPath } from '../temporal/command-line.ts';
import { developmentServerMarker } from '../temporal/development-server.ts';
import { readyText } from './announce.ts';
import type { Supervisor } from './supervisor.ts';
import { requireCurrentDataDir, stopOrphans, temporalDatabase } from './data-dir.ts';
import { compileCache, sharedEnvironment } from './environment.ts';
import { followErrors } from './error-follower.ts';
import {
  keepsMails,
  launchEntry,
  localUrl,
  LOOPBACK,
  logFileOf,
  waitUntilReady,
  wantedParts,
  type Launcher,
} from './parts.ts';
import { loadOrCreateSecrets } from './secrets.ts';
import { serverPorts, startServers, type Servers } from './servers.ts';

/** What the start of a run needs. */
export interface Run {
  readonly config: DevConfig;
  /** The environment of every process, to which settings are added. */
  readonly env: NodeJS.ProcessEnv;
  readonly supervisor: Supervisor;
  readonly guard: Guard;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

function runTask({ supervisor, config }: Run, launcher: Launcher, name: string, entry: string) {
  const logFile = logFileOf(config.dataDir, entry);
  return supervisor.runTask({ name, kind: 'part', logFile }, () => launchEntry(launcher, entry));
}

/** Only migrations receive the login that may change tables. */
function migrationLauncher(launcher: Launcher, { migrationDatabaseUrl }: Servers): Launcher {
  if (migrationDatabaseUrl === undefined) return launcher;
  const env = overridden(launcher.env, { MIGRATION_DATABASE_URL: migrationDatabaseUrl });
  return { ...launcher, env };
}

/** Starts all parts and waits until each of them is ready. */
async function startParts(
  { supervisor, config, log, signal }: Run,
  launcher: Launcher,
): Promise<void> {
  await Promise.all(
    wantedParts(config).map(async (part) => {
      const logFile = logFileOf(config.dataDir, part.entry);
      const started = await supervisor.start({ name: part.name, kind: 'part', logFile }, () =>
        launchEntry(launcher, part.entry),
      );
      followErrors(part.name, logFile, log);
      await waitUntilReady(part, started, config, signal);
    }),
  );
}

/** Stops the processes of a killed run, and checks that programs and ports are available. */
async function prepareStart({ config, log }: Run): Promise<void> {
  const { dataDir } = config;
  if (config.temporalAddress === undefined) {
    requireTemporalCliPath(config.temporalCliPath);
    requireCurrentDataDir(dataDir);
  }
  removeDevFacts(dataDir);
  await stopOrphans(dataDir, developmentServerMarker(temporalDatabase(dataDir)), log);
  const partPorts = wantedParts(config).flatMap(({ ports }) => ports?.(config) ?? []);
  await requireFreePorts([...partPorts, ...serverPorts(config)]);
}

/** What a run publishes when it is ready. @throws SetupError without a demo merchant */
export function factsOf(
  config: DevConfig,
  servers: Servers,
  environment: Record<string, string>,
): DevFacts {
  const demoMerchant = readDemoMerchant(config.dataDir);
  const demoUsers = readDemoUsers(config.dataDir);
  if (demoMerchant === undefined || demoUsers === undefined) {
    throw new SetupError('The demo merchant was not saved');
  }
  return {
    apiBaseUrl: localUrl(config.host, config.port),
    sandboxBasePath: '/sandbox/api/merchant/v1',
    productionBasePath: '/api/merchant/v1',
    temporalAddress: servers.temporalAddress,
    ...(servers.temporalUiUrl === undefined ? {} : { temporalUiUrl: servers.temporalUiUrl }),
    ...(keepsMails(config) && { mailboxUrl: localUrl(LOOPBACK, config.mailboxPort) }),
    demoMerchant,
    demoUsers,
    environment,
  };
}

/**
 * Starts everything: the servers, then the migrations, then the demo merchant and the parts of the
 * service. Publishes the facts and prints the ready text.
 *
 * @throws SetupError when a process cannot be started; the supervisor stops the others.
 */
export async function startAll(run: Run): Promise<void> {
  const startedAt = performance.now();
  const { config, env, guard, log } = run;
  const { dataDir } = config;
  await prepareStart(run);
  const secrets = loadOrCreateSecrets(dataDir);
  // Report a damaged file before the servers take minutes to start.
  readDemoMerchant(dataDir);
  readDemoUsers(dataDir);
  log('Starting …');
  const servers = await startServers({ ...run, secrets });
  const environment = sharedEnvironment(config, servers, secrets);
  const launcher = {
    dataDir,
    env: overridden({ ...compileCache(config), ...env }, environment),
    guard,
  };
  await runTask(run, migrationLauncher(launcher, servers), 'Migration', 'src/main/migrate.ts');
  await Promise.all([
    runTask(run, launcher, 'Demo merchant', 'dev/seed.ts'),
    startParts(run, launcher),
  ]);
  run.signal.throwIfAborted();
  const facts = factsOf(config, servers, environment);
  writeDevFacts(dataDir, facts);
  log(readyText(facts, config, performance.now() - startedAt));
}
