import type { DevFacts } from '../dev-facts.ts';
import { localUrl, LOOPBACK } from '../processes/ports.ts';
import { createSupervisor, type Supervisor } from '../processes/supervisor.ts';
import type { TcpProxy } from '../processes/tcp-proxy.ts';
import {
  prepareRun,
  publishFacts,
  serviceDatabase,
  startPostgres,
  startService,
} from '../start/run-service.ts';
import { startBalancer } from './balancer.ts';
import { startLinks, throughProxy, type Links, type LinkTarget } from './links.ts';
import { answersQuery, entriesOf, temporalMember, type Member, type ShapeRun } from './members.ts';
import { apiPlaces, makePlan, type MemberName, type Plan } from './plan.ts';

export type { StartChanges } from '../processes/supervisor.ts';
export type { Member } from './members.ts';
export type { MemberName } from './plan.ts';

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
  /** Settings of PostgreSQL itself, such as `archive_command`. */
  readonly postgresSettings?: Readonly<Record<string, string | number>>;
  readonly log?: (line: string) => void;
  /** Of the caller, who may end a start that is under way. */
  readonly supervisor?: Supervisor<MemberName>;
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

/** Starts a proxy for each arrow of the network. */
async function startNetwork({ config, metricsPorts }: Plan, supervisor: Supervisor<MemberName>) {
  const at = (port: number) => `${LOOPBACK}:${port}`;
  const links = await startLinks(['temporal', ...metricsPorts.keys()], {
    postgres: at(config.postgresPort),
    temporal: at(config.temporalPort),
    'gateway-simulator': at(config.gatewaySimulatorPort),
  });
  await supervisor.defer(() => links.stop());
  return links;
}

/** Starts PostgreSQL, and Temporal on it. */
async function startServers(run: ShapeRun, links: Links, options: ProductionLikeOptions) {
  const { supervisor, config } = run;
  const adminUrl = await startPostgres(run, 'postgres', options.postgresSettings, answersQuery);
  const databases = await serviceDatabase(run, adminUrl);
  const throughLink = throughProxy(adminUrl, links.link('temporal', 'postgres'));
  await supervisor.start([await temporalMember(run, throughLink)]);
  return {
    ...databases,
    adminDatabaseUrl: adminUrl,
    temporalAddress: `${LOOPBACK}:${config.temporalPort}`,
  };
}

async function startEverything(
  plan: Plan,
  supervisor: Supervisor<MemberName>,
  options: ProductionLikeOptions,
): Promise<ProductionLike> {
  const { config, env } = plan;
  const { log = () => {} } = options;
  const run = await prepareRun({ config, env, supervisor, log, whenItEnds: 'start again' });
  const links = await startNetwork(plan, supervisor);
  const servers = await startServers(run, links, options);
  const environment = await startService(run, servers, (shared) => entriesOf(plan, links, shared));
  const balancer = await startBalancer({ host: config.host, port: config.port }, apiPlaces(plan));
  await supervisor.defer(() => balancer.stop());
  const facts = publishFacts(run, servers, environment);
  return {
    ...servers,
    apiBaseUrl: facts.apiBaseUrl,
    apiUrls: apiPlaces(plan).map(({ host, port }) => localUrl(host, port)),
    metricsUrls: Object.fromEntries(
      [...plan.metricsPorts].map(([name, port]) => [name, `${localUrl(LOOPBACK, port)}/metrics`]),
    ),
    gatewayUrl: localUrl(LOOPBACK, config.gatewaySimulatorPort),
    mailboxUrl: localUrl(LOOPBACK, config.mailboxPort),
    facts,
    members: supervisor.members,
    member: (name) => supervisor.member(name),
    link: (from, to) => links.link(from, to),
    rotation: () => balancer.rotation.map(({ host, port }) => localUrl(host, port)),
    stop: () => supervisor.stop(),
  };
}

/**
 * Starts the service as production runs it: PostgreSQL, Temporal, several APIs behind a balancer and
 * several workers, which this process starts again when they end. All of them end when this process
 * ends, even if it is killed.
 *
 * @throws SetupError with the cause and a remedy; then nothing is left running
 */
export async function startProductionLike(options: ProductionLikeOptions): Promise<ProductionLike> {
  const { log = () => {}, dataDir, settings = {}, apis = 2, workers = 2 } = options;
  const plan = await makePlan({ dataDir, settings, apis, workers });
  const supervisor = options.supervisor ?? (await createSupervisor<MemberName>(log));
  try {
    return await startEverything(plan, supervisor, options);
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
}
