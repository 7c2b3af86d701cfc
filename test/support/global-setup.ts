import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import type { TestProject } from 'vitest/node';
import { inheritedEnvironment } from '../../src/settings.ts';
import { buildWorkflowBundle } from '../../src/main/worker/workflow-bundle.ts';
import { migrate } from '../../src/db/migrate.ts';
import { grantServicePrivileges } from '../../src/db/privileges.ts';
import { ensureLogin } from '../../dev/postgres/databases.ts';
import { startEmbeddedPostgres } from '../../dev/postgres/server.ts';
import { findTemporalCli } from '../../dev/temporal/command-line.ts';
import { startDevelopmentServer } from '../../dev/temporal/development-server.ts';
import { installProgram } from '../../dev/temporal/install.ts';
import { TIME_SKIPPING_SERVER } from '../../dev/temporal/pinned-programs.ts';
import { cacheRoot } from '../../dev/files/cache.ts';
import { startGuard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { SERVICE_LOGIN } from './service-login.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The URL with which tests create databases in the run's PostgreSQL, as a superuser. */
    postgresAdminUrl: string;
    /** A migrated database that tests copy: that takes a fifth of the time of migrating one. */
    templateDatabase: string;
    /** host:port of the run's Temporal server, which runs in real time. */
    temporalAddress: string;
    temporalUiUrl: string;
    /** For `createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`. */
    timeSkippingServerPath: string;
    /** The workflows, bundled once for all workers of the run: a WORKFLOW_BUNDLE. */
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
  const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  await buildWorkflowBundle(file, silent);
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
 * data, and removes all of it, even if the run is killed.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-test-'));
  const guard = await startGuard([folder]);
  const log = (line: string) => project.vitest.logger.log(line);
  const shared = {
    env: inheritedEnvironment(),
    log,
    guard,
    cacheRoot: cacheRoot(),
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
  const uiPort = await freePort();
  const startTemporal = async () =>
    startDevelopmentServer({
      ...shared,
      cli: await findTemporalCli(shared),
      databaseFile: undefined,
      port: await freePort(),
      uiPort,
      logFile: join(folder, 'logs', 'temporal.log'),
    });
  const starting = [
    postgresStarting,
    startTemporal(),
    installProgram(TIME_SKIPPING_SERVER, shared, 'install uv or pip, to have it downloaded'),
    bundleWorkflows(join(folder, 'workflows.json')),
    postgresStarting.then(({ adminUrl }) => prepareTemplate(adminUrl)),
  ] as const;

  const teardown = async () => {
    const started = await Promise.allSettled([starting[0], starting[1]]);
    const running = started.filter((server) => server.status === 'fulfilled');
    await Promise.all(running.map(({ value }) => value.stop()));
    await guard.release();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [{ adminUrl }, temporal, timeSkippingServerPath, workflowBundlePath, template] =
      await Promise.all(starting);
    project.provide('postgresAdminUrl', adminUrl);
    project.provide('templateDatabase', template);
    project.provide('temporalAddress', temporal.address);
    project.provide('temporalUiUrl', `http://127.0.0.1:${uiPort}`);
    project.provide('timeSkippingServerPath', timeSkippingServerPath);
    project.provide('workflowBundlePath', workflowBundlePath);
  } catch (error) {
    await teardown();
    throw error;
  }
  return teardown;
}
