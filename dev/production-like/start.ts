import { join } from 'node:path';
import {
  readDemoMerchant,
  readDemoUsers,
  removeDevFacts,
  writeDevFacts,
  type DevFacts,
} from '../dev-facts.ts';
import { startGuard } from '../processes/guard.ts';
import { requireFreePorts } from '../processes/ports.ts';
import type { TcpProxy } from '../processes/tcp-proxy.ts';
import { claimDataDir, stopOrphans } from '../start/data-dir.ts';
import { sharedEnvironment } from '../start/environment.ts';
import { launchEntry, localUrl, LOOPBACK, logFileOf } from '../start/parts.ts';
import { loadOrCreateSecrets } from '../start/secrets.ts';
import {
  postgresOptions,
  serverPorts,
  serviceDatabase,
  type ServerContext,
  type Servers,
} from '../start/servers.ts';
import { factsOf } from '../start/start-all.ts';
import { createSupervisor } from '../start/supervisor.ts';
import { prepareTemporalServer } from '../temporal-on-postgres/server.ts';
import { startBalancer } from './balancer.ts';
import { startLinks, throughProxy, type Links, type LinkTarget } from './links.ts';
import { createMember, type Member, type MemberName, type MemberPlan } from './member.ts';
import { entryMember, postgresMember, temporalMember, temporalUiMember } from './members.ts';
import { apiPlaces, makePlan, type Plan } from './plan.ts';
import { createTeardown, type Teardown } from './teardown.ts';
import { temporalMarker, temporalOptions, temporalUiOptions } from './temporal.ts';

export type { Member, MemberName, StartChanges } from './member.ts';

/** How to run the service in the shape of production. */
export interface ProductionLikeOptions {
  /** Everything that members write; a later start with the same folder continues from it. */
  readonly dataDir: string;
  /** Added to the environment of the APIs, workers, migration and simulator. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The number of API processes: 2 by default. */
  readonly apis?: number;
  /** The number of worker processes: 2 by default. */
  readonly workers?: number;
  /** Whether Temporal's Web UI runs; not by default. */
  readonly temporalUi?: boolean;
  /** Settings of PostgreSQL itself, such as `archive_command`. */
  readonly postgresSettings?: Readonly<Record<string, string | number>>;
  readonly log?: (line: string) => void;
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal;
}

/** The running service, with several processes of each kind. */
export interface ProductionLike {
  /** The balancer in front of the APIs. */
  readonly apiBaseUrl: string;
  readonly apiUrls: readonly string[];
  /** By member, of each API and worker: `http://…/metrics`. */
  readonly metricsUrls: Readonly<Record<string, string>>;
  /** The service's login, directly. */
  readonly databaseUrl: string;
  /** The login that owns the tables, directly. */
  readonly migrationDatabaseUrl: string;
  /** PostgreSQL's superuser, directly. */
  readonly adminDatabaseUrl: string;
  /** Directly. */
  readonly temporalAddress: string;
  readonly gatewayUrl: string;
  readonly mailboxUrl: string;
  readonly temporalUiUrl?: string;
  /** As `npm start` publishes them; `environment` is for the admin command line. */
  readonly facts: DevFacts;
  readonly members: readonly Member[];
  member(name: MemberName): Member;
  /** The network between two members. @throws Error when `from` does not use that server */
  link(from: MemberName, to: LinkTarget): TcpProxy;
  /** The APIs that the balancer gives new connections to, by their URLs. */
  rotation(): readonly string[];
  /** Stops everything, a process before those that it uses. */
  stop(): Promise<void>;
}

/** What the steps of a start share. */
interface Run {
  readonly options: ProductionLikeOptions;
  readonly plan: Plan;
  readonly context: ServerContext;
  readonly links: Links;
  readonly members: Map<MemberName, Member>;
  readonly teardown: Teardown;
}

const logOf = (dataDir: string, name: string) => join(dataDir, 'logs', `${name}.log`);

/** Starts members together, which also stop together. */
async function startMembers(run: Run, plans: readonly MemberPlan[]): Promise<void> {
  const members = plans.map((plan) => createMember(plan, run.context));
  for (const member of members) run.members.set(member.name, member);
  await run.teardown.defer(async () => {
    await Promise.all(members.map((member) => member.stop()));
  });
  await Promise.all(members.map((member) => member.start()));
}

async function startServers(run: Run): Promise<Servers & { adminDatabaseUrl: string }> {
  const { context, options, links } = run;
  const own = postgresOptions(context);
  const settings = { ...own.settings, ...options.postgresSettings };
  const database = postgresMember({ ...own, settings });
  await startMembers(run, [database]);
  const adminDatabaseUrl = database.adminUrl();
  const databases = await serviceDatabase(context, adminDatabaseUrl);
  const temporal = await temporalOptions(
    context,
    throughProxy(adminDatabaseUrl, links.link('temporal', 'postgres')),
  );
  await prepareTemporalServer(temporal);
  await startMembers(run, [temporalMember(temporal)]);
  const temporalAddress = `${LOOPBACK}:${context.config.temporalPort}`;
  const temporalUiUrl = options.temporalUi === true ? await startUi(run) : undefined;
  return { ...databases, adminDatabaseUrl, temporalAddress, temporalUiUrl };
}

async function startUi(run: Run): Promise<string | undefined> {
  const { context, links } = run;
  const ui = await temporalUiOptions(context, links.link('temporal-ui', 'temporal').address);
  if (ui === undefined) return undefined;
  await startMembers(run, [temporalUiMember(ui)]);
  return localUrl(LOOPBACK, ui.port);
}

/** Runs a process to its end, with a direct connection to the servers. */
async function runTask(
  { plan, context, teardown }: Run,
  entry: string,
  env: Record<string, string>,
): Promise<void> {
  const { dataDir } = plan.config;
  const launcher = { dataDir, env: { ...plan.env, ...env }, guard: context.guard };
  const supervisor = createSupervisor();
  await teardown.defer(() => supervisor.stop());
  const logFile = logFileOf(dataDir, entry);
  await supervisor.runTask({ name: entry, kind: 'part', logFile }, () =>
    launchEntry(launcher, entry, { logFile, continueLog: true }),
  );
}

/** The settings with which an API or a worker reaches the servers: through its links. */
function linkSettings({ links }: Run, name: MemberName, shared: Record<string, string>) {
  const through = (setting: string, to: LinkTarget) => ({
    [setting]: throughProxy(shared[setting] ?? '', links.link(name, to)),
  });
  return {
    ...through('DATABASE_URL', 'postgres'),
    ...through('SANDBOX_RAZORPAY_BASE_URL', 'gateway-simulator'),
    TEMPORAL_ADDRESS: links.link(name, 'temporal').address,
  };
}

/** The APIs, the workers and what runs beside them. */
function entryPlans(run: Run, shared: Record<string, string>): MemberPlan[] {
  const { plan, context } = run;
  const { config, apiPorts, metricsPorts } = plan;
  const { dataDir } = config;
  const planOf = (name: MemberName, entry: string, env: NodeJS.ProcessEnv, readyUrl?: string) =>
    entryMember({
      name,
      entry,
      logFile: logOf(dataDir, name),
      launcher: { dataDir, env: { ...plan.env, ...shared, ...env }, guard: context.guard },
      ...(readyUrl !== undefined && { readyUrl }),
    });
  const serviceOf = (name: MemberName) => ({
    ...linkSettings(run, name, shared),
    METRICS_PORT: String(metricsPorts.get(name)),
  });
  return [
    ...plan.apis.map((name) => {
      const port = apiPorts.get(name) ?? 0;
      const env = { ...serviceOf(name), HOST: LOOPBACK, PORT: String(port) };
      return planOf(name, 'src/main/api.ts', env, `${localUrl(LOOPBACK, port)}/readyz`);
    }),
    ...plan.workers.map((name) => {
      const readyUrl = `${localUrl(LOOPBACK, metricsPorts.get(name) ?? 0)}/readyz`;
      return planOf(name, 'src/main/worker.ts', serviceOf(name), readyUrl);
    }),
    planOf('gateway-simulator', 'dev/gateway-simulator.ts', {}),
    planOf('mailbox', 'dev/mailbox.ts', {}),
  ];
}

async function startEverything(run: Run): Promise<ProductionLike> {
  const { plan, links, members } = run;
  const { config } = plan;
  const servers = await startServers(run);
  const environment = sharedEnvironment(config, servers, run.context.secrets);
  const { migrationDatabaseUrl = servers.databaseUrl } = servers;
  await runTask(run, 'src/main/migrate.ts', {
    ...environment,
    MIGRATION_DATABASE_URL: migrationDatabaseUrl,
  });
  await Promise.all([
    runTask(run, 'dev/seed.ts', environment),
    startMembers(run, entryPlans(run, environment)),
  ]);
  const balancer = await startBalancer({ host: config.host, port: config.port }, apiPlaces(plan));
  await run.teardown.defer(() => balancer.stop());
  const facts = factsOf(config, servers, environment);
  writeDevFacts(config.dataDir, facts);
  await run.teardown.defer(async () => removeDevFacts(config.dataDir));
  return {
    apiBaseUrl: facts.apiBaseUrl,
    apiUrls: apiPlaces(plan).map(({ host, port }) => localUrl(host, port)),
    metricsUrls: Object.fromEntries(
      [...plan.metricsPorts].map(([name, port]) => [name, `${localUrl(LOOPBACK, port)}/metrics`]),
    ),
    databaseUrl: servers.databaseUrl,
    migrationDatabaseUrl,
    adminDatabaseUrl: servers.adminDatabaseUrl,
    temporalAddress: servers.temporalAddress,
    gatewayUrl: localUrl(LOOPBACK, config.gatewaySimulatorPort),
    mailboxUrl: localUrl(LOOPBACK, config.mailboxPort),
    ...(servers.temporalUiUrl !== undefined && { temporalUiUrl: servers.temporalUiUrl }),
    facts,
    members: [...members.values()],
    member(name) {
      const found = members.get(name);
      if (found === undefined) throw new Error(`There is no member ${name}`);
      return found;
    },
    link: (from, to) => links.link(from, to),
    rotation: () => balancer.rotation.map(({ host, port }) => localUrl(host, port)),
    stop: () => run.teardown.run(),
  };
}

/** Claims the folder, ends what a killed run has left there, and starts the network. */
async function prepareRun(options: ProductionLikeOptions, teardown: Teardown): Promise<Run> {
  const { log = () => {}, signal = new AbortController().signal } = options;
  const { dataDir, settings = {}, apis = 2, workers = 2 } = options;
  const plan = await makePlan({ dataDir, settings, apis, workers });
  const { config, env } = plan;
  const claim = await claimDataDir(config.dataDir, log, signal);
  await teardown.defer(async () => claim.release());
  removeDevFacts(config.dataDir);
  await stopOrphans(config.dataDir, temporalMarker(config.dataDir), log);
  const balancer = { host: config.host, port: config.port, variable: 'PORT' };
  await requireFreePorts([balancer, ...serverPorts(config)]);
  const guard = await startGuard();
  await teardown.defer(() => guard.release());
  const secrets = loadOrCreateSecrets(config.dataDir);
  // Report a damaged file before the servers are started.
  readDemoMerchant(config.dataDir);
  readDemoUsers(config.dataDir);
  const targets = {
    postgres: `${LOOPBACK}:${config.postgresPort}`,
    temporal: `${LOOPBACK}:${config.temporalPort}`,
    'gateway-simulator': `${LOOPBACK}:${config.gatewaySimulatorPort}`,
  };
  const names = ['temporal', 'temporal-ui', ...plan.apis, ...plan.workers] as const;
  const links = await startLinks(names, targets);
  await teardown.defer(() => links.stop());
  const context = { config, env, secrets, guard, log, signal };
  return { options, plan, context, links, members: new Map(), teardown };
}

/**
 * Starts the service as production runs it: PostgreSQL, Temporal, several APIs behind a balancer and
 * several workers, which this process starts again when they end. All of them end when this process
 * ends, even if it is killed.
 *
 * @throws SetupError with the cause and a remedy; then nothing is left running
 */
export async function startProductionLike(options: ProductionLikeOptions): Promise<ProductionLike> {
  const teardown = createTeardown();
  const abort = () => void teardown.run();
  options.signal?.addEventListener('abort', abort, { once: true });
  try {
    return await startEverything(await prepareRun(options, teardown));
  } catch (error) {
    await teardown.run();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
}
