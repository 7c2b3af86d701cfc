import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Sql } from '../../../src/db/client.ts';
import { runAdmin } from '../../../src/main/admin/run.ts';
import { newMemory } from '../../load/memory.ts';
import { startMerchant, type LoadMerchant } from '../../load/merchant.ts';
import { withOwner, withTemporal, type CheckedService } from '../../load/oracle/service.ts';
import type { LoadDeps } from '../../load/order.ts';
import { simulatorAccessOf } from '../../load/simulator.ts';
import {
  startProductionLike,
  type ProductionLike,
  type ProductionLikeOptions,
} from '../../production-like/start.ts';
import { startGuard, type Guard } from '../../processes/guard.ts';
import { postgresFolder } from '../../start/data-dir.ts';
import type { DrillOrder } from './load.ts';
import { DrillFailure, report } from './report.ts';

/** A merchant may send as fast as the machine answers. */
const SETTINGS = { RATE_LIMIT_PER_SECOND: '100000', SWEEP_AFTER_SECONDS: '5' };

/** The production-like shape during a drill, with a merchant that uses it. */
export interface Drill {
  readonly cluster: ProductionLike;
  /** A temporary folder that PostgreSQL's account can enter. */
  readonly folder: string;
  readonly guard: Guard;
  readonly merchant: LoadMerchant;
  /** What its orders share. */
  readonly deps: LoadDeps;
  /** Every order that was made. */
  readonly orders: DrillOrder[];
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
  /** Runs an operators' command, and returns what it printed. @throws DrillFailure when it fails */
  admin(...args: string[]): Promise<string>;
}

/** The data directory of the shape. */
const dataDirIn = (folder: string) => join(folder, 'data');
/** Where its PostgreSQL keeps its data. */
export const postgresDataIn = (folder: string) => postgresFolder(dataDirIn(folder));

/** How the production-like shape of a drill differs from the default. */
export type ClusterOptions = Omit<ProductionLikeOptions, 'dataDir'>;

/** The options, which may name files in the folder of the drill. */
export type OptionsIn = (folder: string) => Promise<ClusterOptions>;

/**
 * Starts the production-like shape in a temporary folder, with a merchant and its webhook endpoint.
 * Stops and removes everything after use.
 */
export async function withCluster(
  use: (drill: Drill) => Promise<void>,
  optionsIn: OptionsIn = async () => ({}),
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-drill-'));
  await chmod(folder, 0o755);
  const guard = await startGuard([folder]);
  let cluster: ProductionLike | undefined;
  let drill: Drill | undefined;
  try {
    const options = await optionsIn(folder);
    cluster = await startProductionLike({
      ...options,
      dataDir: dataDirIn(folder),
      settings: { ...SETTINGS, ...options.settings },
    });
    drill = await prepareDrill({ cluster, folder, guard }, options.settings);
    report(`${cluster.members.map(({ name }) => name).join(', ')} run`);
    await use(drill);
  } finally {
    drill?.merchant.receiver.stop();
    await cluster?.stop();
    await guard.release();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The same URL with another port. */
function onPort(url: string, port: number | undefined): string {
  if (port === undefined) return url;
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

async function prepareDrill(
  parts: Pick<Drill, 'cluster' | 'folder' | 'guard'>,
  settings: ClusterOptions['settings'],
): Promise<Drill> {
  const { cluster } = parts;
  const { facts } = cluster;
  const memory = newMemory();
  const merchant = await startMerchant(
    { environment: facts.environment, apiBaseUrl: cluster.apiBaseUrl },
    { actor: 'drill', memory },
  );
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
  return {
    ...parts,
    checked,
    merchant,
    deps: {
      simulator: simulatorAccessOf(facts),
      environment: facts.environment,
      memory,
      outcome: 'open',
    },
    orders: [],
    environment,
    useDatabaseOn(other) {
      port = other;
    },
    withSql: (use) => withOwner(checked(), use),
    withTemporal: (use) => withTemporal(checked(), use),
    async admin(...args) {
      const { stdout, stderr, exitCode } = await runAdmin(args, environment);
      if (exitCode === 0) return stdout.trimEnd();
      throw new DrillFailure(`admin ${args.join(' ')} failed: ${stderr}\n${stdout}`);
    },
  };
}
