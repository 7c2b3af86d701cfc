import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import postgres from 'postgres';
import type { TestProject } from 'vitest/node';
import { inheritedEnvironment } from '../../src/settings.ts';
import { loadDevConfig } from '../../dev/config.ts';
import { migrate } from '../../src/db/migrate.ts';
import { grantServicePrivileges } from '../../src/db/privileges.ts';
import { ensureLogin } from '../../dev/postgres/databases.ts';
import { startEmbeddedPostgres } from '../../dev/postgres/server.ts';
import { findTemporalServer, findTemporalUi } from '../../dev/temporal/programs.ts';
import { startTemporalServer } from '../../dev/temporal/server.ts';
import { cacheRoot } from '../../dev/files/cache.ts';
import { startGuard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { SERVICE_LOGIN } from './service-login.ts';
import { findTimeSkippingServer } from './time-skipping-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's URL of the run's PostgreSQL, with which tests create databases. */
    postgresAdminUrl: string;
    /** A migrated database that tests copy: that takes a fifth of the time of migrating one. */
    templateDatabase: string;
    /** host:port of the run's Temporal server, which runs in real time. */
    temporalAddress: string;
    /** For `createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`. */
    timeSkippingServerPath: string;
    /** The workflows, bundled once for all workers of the run. */
    workflowBundlePath: string;
  }
}

/** No data of a test run is kept, so PostgreSQL does not wait for the disk. */
const POSTGRES_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: 300,
};

async function bundleWorkflows(file: string): Promise<string> {
  const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
  const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: silent });
  await writeFile(file, code);
  return file;
}

/** Migrates the database that each test file copies. */
async function prepareTemplate(adminUrl: string): Promise<string> {
  await ensureLogin(adminUrl, SERVICE_LOGIN);
  const name = 'service_template';
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
  await admin.unsafe(`CREATE DATABASE ${name}`);
  await admin.end({ timeout: 1 });
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  await migrate(url.href);
  await grantServicePrivileges(url.href, SERVICE_LOGIN.name);
  return name;
}

/**
 * Starts one PostgreSQL and one Temporal server for the whole run, on free ports and with temporary
 * data, and removes all of it, also if the run is killed.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { temporalProgramsDir, temporalTestServerPath, cacheHome } = loadDevConfig();
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-test-'));
  const guard = await startGuard([folder]);
  const log = (line: string) => project.vitest.logger.log(line);
  const shared = {
    env: inheritedEnvironment(),
    log,
    guard,
    cacheRoot: cacheRoot(cacheHome),
  };

  const startPostgres = async () =>
    startEmbeddedPostgres({
      ...shared,
      dataDir: join(folder, 'postgres'),
      port: await freePort(),
      logFile: join(folder, 'logs', 'postgres.log'),
      settings: POSTGRES_SETTINGS,
    });
  const postgresStarting = startPostgres();
  const startTemporal = async () => {
    const programs = await findTemporalServer({ ...shared, temporalProgramsDir });
    // Started without waiting: only tests that need it wait until it is built.
    await findTemporalUi({ ...shared, temporalProgramsDir });
    const { adminUrl } = await postgresStarting;
    return startTemporalServer({
      ...shared,
      programs,
      adminUrl,
      login: { name: 'temporal', password: 'temporal' },
      folder: join(folder, 'temporal'),
      port: await freePort(),
      immediateSearchAttributes: true,
      logFile: join(folder, 'logs', 'temporal.log'),
    });
  };
  const starting = [
    postgresStarting,
    startTemporal(),
    findTimeSkippingServer({ ...shared, temporalTestServerPath }),
    bundleWorkflows(join(folder, 'workflows.js')),
    postgresStarting.then(({ adminUrl }) => prepareTemplate(adminUrl)),
  ] as const;

  const teardown = async () => {
    const started = await Promise.allSettled([starting[0], starting[1]]);
    const running = started.filter((server) => server.status === 'fulfilled');
    // Temporal stops before the PostgreSQL that holds its data.
    for (const { value } of running.toReversed()) await value.stop();
    await guard.release();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [{ adminUrl }, temporal, timeSkippingServerPath, workflowBundlePath, template] =
      await Promise.all(starting);
    project.provide('postgresAdminUrl', adminUrl);
    project.provide('templateDatabase', template);
    project.provide('temporalAddress', temporal.address);
    project.provide('timeSkippingServerPath', timeSkippingServerPath);
    project.provide('workflowBundlePath', workflowBundlePath);
  } catch (error) {
    await teardown();
    throw error;
  }
  return teardown;
}
