import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Sql } from '../../src/db/client.ts';
import type { ClientOptions } from '../load/client.ts';
import type { Memory } from '../load/memory.ts';
import { startMerchant, type LoadMerchant } from '../load/merchant.ts';
import { withOwner, withTemporal, type CheckedService } from '../load/oracle/service.ts';
import { byCommand } from '../load/operators.ts';
import type { LoadDeps } from '../load/order.ts';
import { startProductionGateway } from '../load/production-gateway.ts';
import type { ReceiverOptions } from '../load/receiver.ts';
import { simulatorAccessOf } from '../load/simulator.ts';
import { startGuard, type Guard } from '../processes/guard.ts';
import { freePort, localUrl, LOOPBACK } from '../processes/ports.ts';
import type { StartChanges } from '../processes/supervisor.ts';
import type { TcpProxy } from '../processes/tcp-proxy.ts';
import type { LinkTarget } from '../production-like/links.ts';
import {
  startProductionLike,
  type MemberName,
  type ProductionLike,
  type ProductionLikeOptions,
} from '../production-like/start.ts';

/** A client may send as fast as the machine answers. */
const SETTINGS = {
  RATE_LIMIT_PER_SECOND: '100000',
  BUYER_RATE_LIMIT_PER_SECOND: '100000',
  DASHBOARD_RATE_LIMIT_PER_SECOND: '100000',
};

/** How a run differs from the default: the production-like shape with one merchant in the sandbox. */
export interface RunOptions extends Omit<ProductionLikeOptions, 'dataDir'> {
  readonly merchants?: readonly (ClientOptions & ReceiverOptions & { readonly path?: string })[];
  /** Known by default; see LoadDeps. */
  readonly outcome?: LoadDeps['outcome'];
  /** Of the orders of the run. */
  readonly marks?: LoadDeps['marks'];
  /** Whether a second simulator is the gateway of production. */
  readonly hasProduction?: boolean;
}

/** The production-like shape with merchants that use it. */
export interface Run {
  readonly cluster: ProductionLike;
  /** A temporary folder that PostgreSQL's account can enter; the shape's data is below it. */
  readonly folder: string;
  readonly guard: Guard;
  readonly merchants: readonly LoadMerchant[];
  /** The first one. */
  readonly merchant: LoadMerchant;
  /** What its orders share. */
  readonly deps: LoadDeps;
  /** The settings of the operators' command line. */
  environment(): Record<string, string>;
  /** From now on the service's database is on another port, also for the operators. */
  useDatabaseOn(port: number): void;
  /** The service as the oracle needs it. */
  checked(): CheckedService;
  /** Opens the service's database as the owner of its tables, for one use. */
  withSql<Result>(use: (sql: Sql) => Promise<Result>): Promise<Result>;
  /** A client of Temporal, connected directly, for one use. */
  withTemporal<Result>(use: (client: Client) => Promise<Result>): Promise<Result>;
  /** Runs an operators' command, and returns what it printed. @throws Error when it fails */
  admin(...args: string[]): Promise<string>;
  /** Whether the folder stays after the run. */
  keep(isKept: boolean): void;
}

/** The data directory of the shape of a run. */
export const dataDirIn = (folder: string) => join(folder, 'data');

/**
 * Starts the production-like shape in a temporary folder, with merchants and their webhook endpoints. Stops and
 * removes everything after use.
 *
 * @param optionsIn may name files in the folder of the run
 */
export async function withRun<Result>(
  optionsIn: (folder: string) => Promise<RunOptions>,
  use: (run: Run) => Promise<Result>,
): Promise<Result> {
  await using ends = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-run-'));
  let isKept = false;
  ends.defer(() => (isKept ? undefined : rm(folder, { recursive: true, force: true })));
  await chmod(folder, 0o755);
  const guard = await startGuard([folder]);
  ends.defer(() => guard.release());
  const { hasProduction = false, ...options } = await optionsIn(folder);
  const port = String(await freePort());
  const settings: Record<string, string> = { ...SETTINGS, ...options.settings, PORT: port };
  if (hasProduction) {
    const gateway = await startProductionGateway(folder, localUrl(LOOPBACK, Number(port)));
    ends.defer(() => gateway.stop());
    Object.assign(settings, gateway.settings);
  }
  const cluster = await startProductionLike({ ...options, settings, dataDir: dataDirIn(folder) });
  ends.defer(() => cluster.stop());
  const run = await prepareRun({ cluster, folder, guard }, { ...options, settings });
  ends.defer(() => run.merchants.forEach(({ receiver }) => receiver.stop()));
  return await use({ ...run, keep: (keeps) => void (isKept = keeps) });
}

/** The same URL with another port. */
function onPort(url: string, port: number | undefined): string {
  if (port === undefined) return url;
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

async function prepareRun(
  parts: Pick<Run, 'cluster' | 'folder' | 'guard'>,
  { settings, merchants: wanted = [{}], outcome = 'known', marks }: RunOptions,
): Promise<Omit<Run, 'keep'>> {
  const { cluster } = parts;
  const { facts, apiBaseUrl } = cluster;
  let port: number | undefined;
  const environment = () => ({
    ...facts.environment,
    ...settings,
    DATABASE_URL: onPort(cluster.databaseUrl, port),
  });
  const checked = () => ({
    environment: environment(),
    migrationDatabaseUrl: onPort(cluster.migrationDatabaseUrl, port),
  });
  const memory: Memory = { orders: [], received: new Map(), surprises: [] };
  const service = { environment: environment(), apiBaseUrl };
  const start = (options: ClientOptions & ReceiverOptions) =>
    startMerchant(service, {
      actor: 'run',
      memory,
      ...(marks && { headers: marks.headers }),
      ...options,
    });
  const merchants = await Promise.all(wanted.map(start));
  const [merchant] = merchants;
  if (!merchant) throw new Error('A run has merchants');
  const simulator = simulatorAccessOf({ environment: environment() });
  return {
    ...parts,
    merchants,
    merchant,
    deps: {
      simulator,
      memory,
      outcome,
      ...(marks && { marks }),
      get environment() {
        return environment();
      },
    },
    environment,
    useDatabaseOn(other) {
      port = other;
    },
    checked,
    withSql: (use) => withOwner(checked(), use),
    withTemporal: (use) => withTemporal(checked(), use),
    admin: async (...args) => (await byCommand(environment(), args)).trimEnd(),
  };
}

/** The names of the APIs or workers. */
export const namesOf = ({ cluster }: Run, ...kinds: ('api' | 'worker')[]): MemberName[] =>
  cluster.members
    .map(({ name }) => name)
    .filter((name) => kinds.some((kind) => name.startsWith(`${kind}-`)));

/** Stops members. */
export async function stopMembers({ cluster }: Run, names: readonly MemberName[]): Promise<void> {
  await Promise.all(names.map((name) => cluster.member(name).stop()));
}

/** Starts members that were stopped, and waits until they are ready. */
export async function startMembers({ cluster }: Run, names: readonly MemberName[]): Promise<void> {
  await Promise.all(names.map((name) => cluster.member(name).start()));
}

/** Stops a member, and starts it again with changes. */
export async function restart(
  { cluster }: Run,
  name: MemberName,
  changes: StartChanges,
): Promise<void> {
  await cluster.member(name).stop();
  await cluster.member(name).start(changes);
}

/** Ends a member with SIGKILL, and keeps it down. */
export async function kill({ cluster }: Run, name: MemberName): Promise<void> {
  const member = cluster.member(name);
  member.signal('SIGKILL');
  await member.stop();
}

/** The network between each of these members and a server. */
export const linksOf = (
  { cluster }: Run,
  names: readonly MemberName[],
  to: LinkTarget,
): TcpProxy[] => names.map((name) => cluster.link(name, to));
