import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { ListenAddress } from '../../src/main/process/listen.ts';
import { SetupError } from '../../src/setup-error.ts';
import { overridden, type DevConfig } from '../config.ts';
import { isFirstRun } from '../demo-orders/unfinished.ts';
import { keptMerchant, keptUsers, publishedFacts, type DevFacts } from '../dev-facts.ts';
import { ensureServiceDatabase } from '../postgres/databases.ts';
import { startEmbeddedPostgres } from '../postgres/server.ts';
import { localUrl, LOOPBACK, requireFreePorts } from '../processes/ports.ts';
import type { MemberPlan, Supervisor } from '../processes/supervisor.ts';
import { claimDataDir, postgresFolder } from './data-dir.ts';
import { entryMember, entryTask, logFileOf, type Entry } from './entries.ts';
import {
  compileCache,
  keepsMails,
  sharedEnvironment,
  simulatesGateway,
  type Servers,
} from './environment.ts';
import { loadOrCreateSecrets, type Secrets } from './secrets.ts';

/** The service has 40; in the production-like shape Temporal has pools of 120 connections. */
const MAX_CONNECTIONS = 200;

/** What the start of a service needs. */
export interface Run<Name extends string = string> {
  readonly config: DevConfig;
  /** The environment of every process, to which settings are added. */
  readonly env: NodeJS.ProcessEnv;
  readonly supervisor: Supervisor<Name>;
  readonly log: (line: string) => void;
  /** What happens when a member ends by itself. */
  readonly whenItEnds: MemberPlan['whenItEnds'];
}

/** A run that has its data directory. */
export interface PreparedRun<Name extends string = string> extends Run<Name> {
  readonly secrets: Secrets;
}

/** Where a run listens; servers that the settings give are not its own. */
function portsOf(config: DevConfig): ListenAddress[] {
  const { host } = config;
  const variable = 'PORT_OFFSET';
  const own = (port: number) => ({ host: LOOPBACK, port, variable });
  return [
    { host, port: config.port, variable: 'PORT' },
    ...(simulatesGateway(config) ? [{ host, port: config.gatewaySimulatorPort, variable }] : []),
    ...(keepsMails(config) ? [own(config.mailboxPort), own(config.mailboxSmtpPort)] : []),
    ...(config.databaseUrl === undefined ? [own(config.postgresPort)] : []),
    ...(config.temporalAddress === undefined
      ? [own(config.temporalPort), own(config.temporalUiPort)]
      : []),
  ];
}

/** Claims the data directory, and checks that all ports are free. @throws SetupError */
export async function prepareRun<Name extends string>(run: Run<Name>): Promise<PreparedRun<Name>> {
  const { config, supervisor, log } = run;
  const { dataDir } = config;
  const claim = await claimDataDir(dataDir, log, supervisor);
  await supervisor.defer(async () => claim.release());
  supervisor.signal.addEventListener('abort', () => publishedFacts.remove(dataDir));
  publishedFacts.remove(dataDir);
  await requireFreePorts(portsOf(config));
  const secrets = loadOrCreateSecrets(dataDir);
  // Report a damaged file before the servers take minutes to start.
  keptMerchant.read(dataDir);
  keptUsers.read(dataDir);
  return { ...run, secrets };
}

/**
 * Starts the PostgreSQL of a data directory.
 *
 * @param settings of PostgreSQL itself
 * @param responds whether it answers at the superuser's URL
 * @returns the URL of its superuser
 */
export async function startPostgres<Name extends string>(
  { config, supervisor, log, whenItEnds }: PreparedRun<Name>,
  name: Name,
  settings: Readonly<Record<string, string | number>> = {},
  responds: (adminUrl: string) => Promise<boolean> = async () => true,
): Promise<string> {
  const logFile = logFileOf(config.dataDir, 'postgres');
  let adminUrl = '';
  const plan: MemberPlan<Name> = {
    name,
    logFile,
    whenItEnds,
    async launch(_, onSpawn) {
      const started = await startEmbeddedPostgres({
        log,
        signal: supervisor.signal,
        guard: supervisor.guard,
        dataDir: postgresFolder(config.dataDir),
        port: config.postgresPort,
        logFile,
        continueLog: whenItEnds === 'start again',
        // Terse: PostgreSQL's own log would show the whole row that a constraint refuses.
        settings: { max_connections: MAX_CONNECTIONS, log_error_verbosity: 'terse', ...settings },
        onSpawn,
      });
      ({ adminUrl } = started);
    },
    responds: () => responds(adminUrl),
  };
  await supervisor.start([plan]);
  return adminUrl;
}

/** The service's database on the PostgreSQL of a run. */
export function serviceDatabase({ secrets }: PreparedRun, adminUrl: string) {
  return ensureServiceDatabase(adminUrl, {
    owner: secrets.DATABASE_OWNER_PASSWORD,
    service: secrets.DATABASE_SERVICE_PASSWORD,
  });
}

/**
 * Runs the migrations, then makes the demo merchant while the members start.
 *
 * @param entriesOf the members; with the settings that they share
 * @param hasDemoOrders on its first run, makes the demo merchant's orders before the members that show orders start
 * @returns these settings
 * @throws SetupError when a process cannot be started
 */
export async function startService<Name extends string>(
  { config, env, supervisor, secrets, whenItEnds }: PreparedRun<Name>,
  servers: Servers,
  entriesOf: (shared: Record<string, string>) => readonly Entry<Name>[],
  hasDemoOrders = false,
): Promise<Record<string, string>> {
  const shared = sharedEnvironment(config, servers, secrets);
  const { guard, signal } = supervisor;
  const launcher = {
    dataDir: config.dataDir,
    env: overridden({ ...compileCache(), ...env }, shared),
    guard,
    signal,
  };
  const { migrationDatabaseUrl: url } = servers;
  const continueLog = whenItEnds === 'start again';
  // Only migrations and the demo orders receive the login that may change tables.
  const owner = url === undefined ? {} : { env: { MIGRATION_DATABASE_URL: url } };
  const migration = {
    name: 'Migration',
    entry: 'src/main/migrate.ts',
    ...owner,
  };
  const merchant = { name: 'Demo merchant', entry: 'dev/seed.ts' };
  const demoOrders = { name: 'Demo orders', entry: 'dev/demo-orders.ts', ...owner };
  const run = (task: Entry<string>) => supervisor.runTask(entryTask(launcher, task, continueLog));
  const start = (entries: readonly Entry<Name>[]) =>
    supervisor.start(entries.map((entry) => entryMember(launcher, entry, whenItEnds)));
  const { now = [], later = [] } = Object.groupBy(entriesOf(shared), ({ showsOrders = false }) =>
    showsOrders ? 'later' : 'now',
  );
  await run(migration);
  const isFirst = hasDemoOrders && isFirstRun(config.dataDir);
  const past = isFirst ? run(demoOrders) : Promise.resolve();
  await Promise.all([start(now), past.then(() => Promise.all([run(merchant), start(later)]))]);
  return shared;
}

/** Publishes that the run is ready. @throws SetupError without a demo merchant, or when it stops */
export function publishFacts(
  { config, supervisor }: Run,
  servers: Servers,
  environment: Record<string, string>,
): DevFacts {
  const demoMerchant = keptMerchant.read(config.dataDir);
  const demoUsers = keptUsers.read(config.dataDir);
  if (demoMerchant === undefined || demoUsers === undefined) {
    throw new SetupError('The demo merchant was not saved');
  }
  supervisor.signal.throwIfAborted();
  const facts = {
    apiBaseUrl: localUrl(config.host, config.port),
    sandboxBasePath: BASE_PATHS.sandbox,
    productionBasePath: BASE_PATHS.production,
    temporalAddress: servers.temporalAddress,
    ...(servers.temporalUiUrl !== undefined && { temporalUiUrl: servers.temporalUiUrl }),
    ...(keepsMails(config) && { mailboxUrl: localUrl(LOOPBACK, config.mailboxPort) }),
    demoMerchant,
    demoUsers,
    environment,
  };
  publishedFacts.write(config.dataDir, facts);
  return facts;
}
