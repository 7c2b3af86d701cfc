import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { loadConfig } from '../../../src/config.ts';
import { connectDatabase, type Sql } from '../../../src/db/client.ts';
import { connectTemporal } from '../../../src/temporal/client.ts';
import type { MerchantClient } from '../../load/client.ts';
import { startMerchant } from '../../load/merchant.ts';
import type { Receiver } from '../../load/receiver.ts';
import {
  startProductionLike,
  type ProductionLike,
  type ProductionLikeOptions,
} from '../../production-like/start.ts';
import { startGuard, type Guard } from '../../processes/guard.ts';
import { postgresFolder } from '../../start/data-dir.ts';
import { DrillFailure, report } from './report.ts';

const execute = promisify(execFile);
const ADMIN = join(import.meta.dirname, '../../../src/main/admin.ts');

/** A merchant may send as fast as the machine answers. */
const SETTINGS = { RATE_LIMIT_PER_SECOND: '100000', SWEEP_AFTER_SECONDS: '5' };

/** The production-like shape during a drill, with a merchant that uses it. */
export interface Drill {
  readonly cluster: ProductionLike;
  /** A temporary folder that PostgreSQL's account can enter. */
  readonly folder: string;
  readonly guard: Guard;
  readonly api: MerchantClient;
  readonly receiver: Receiver;
  readonly merchantId: string;
  /** The settings of the operators' command line. */
  environment(): Record<string, string>;
  /** From now on the service's database is on another port, also for the operators. */
  useDatabaseOn(port: number): void;
  /** The URL of the service's database for the owner of its tables. */
  ownerUrl(): string;
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

/**
 * Starts the production-like shape in a temporary folder, with a merchant and its webhook endpoint.
 * Stops and removes everything after use.
 *
 * @param optionsIn the options, which may name files in the folder
 */
export async function withCluster(
  use: (drill: Drill) => Promise<void>,
  optionsIn: (folder: string) => Promise<ClusterOptions> = async () => ({}),
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
    drill?.receiver.stop();
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
  const { environment: used } = facts;
  const { apiBaseUrl } = cluster;
  const {
    merchantId,
    client: api,
    receiver,
  } = await startMerchant({ environment: used, apiBaseUrl }, { actor: 'drill' });
  let port: number | undefined;
  const environment = () => ({
    ...facts.environment,
    ...settings,
    DATABASE_URL: onPort(cluster.databaseUrl, port),
  });
  const ownerUrl = () => onPort(cluster.migrationDatabaseUrl, port);
  return {
    ...parts,
    ownerUrl,
    merchantId,
    api,
    receiver,
    environment,
    useDatabaseOn(other) {
      port = other;
    },
    async withSql(use) {
      const sql = connectDatabase(ownerUrl(), { maxConnections: 1, name: 'drill' });
      try {
        return await use(sql);
      } finally {
        await sql.end({ timeout: 1 });
      }
    },
    async withTemporal(use) {
      const { temporalNamespace: namespace } = loadConfig(environment());
      const client = connectTemporal({ address: cluster.temporalAddress, namespace });
      try {
        return await use(client);
      } finally {
        await client.connection.close();
      }
    },
    async admin(...args) {
      const env = { PATH: '/usr/bin:/bin', ...environment() };
      try {
        return (await execute(process.execPath, [ADMIN, ...args], { env })).stdout.trimEnd();
      } catch (error) {
        const { stdout, stderr } = error as { stdout?: string; stderr?: string };
        throw new DrillFailure(`admin ${args.join(' ')} failed: ${stderr}\n${stdout}`);
      }
    },
  };
}
