import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { cacheRoot } from '../files/cache.ts';
import { localUrl, LOOPBACK } from '../processes/ports.ts';
import type { Member as SupervisedMember, MemberPlan } from '../processes/supervisor.ts';
import { isTemporalServing } from '../processes/temporal-process.ts';
import { logFileOf, type Entry } from '../start/entries.ts';
import type { PreparedRun } from '../start/run-service.ts';
import { findTemporalServer } from '../temporal-on-postgres/programs.ts';
import { launchTemporalServer, prepareTemporalServer } from '../temporal-on-postgres/server.ts';
import { throughProxy, type Links } from './links.ts';
import type { MemberName, Plan } from './plan.ts';

/** A process that is started again when it ends. */
export type Member = SupervisedMember<MemberName>;

/** A run of the shape. */
export type ShapeRun = PreparedRun<MemberName>;

/** A frozen server accepts connections and does not respond. */
const RESPONSE_TIMEOUT_MS = 2500;

/** Whether PostgreSQL answers a query within the time-out. */
export async function answersQuery(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => {} });
  const late = new AbortController();
  try {
    return await Promise.race([
      sql`SELECT 1`.then(() => true),
      delay(RESPONSE_TIMEOUT_MS, false, { signal: late.signal }),
    ]);
  } catch {
    return false;
  } finally {
    late.abort();
    void sql.end({ timeout: 0 });
  }
}

/** Prepares the Temporal server. @param adminUrl PostgreSQL's superuser */
export async function temporalMember(
  { config, env, log, secrets, supervisor, whenItEnds }: ShapeRun,
  adminUrl: string,
): Promise<MemberPlan<MemberName>> {
  const { signal, guard } = supervisor;
  const logFile = logFileOf(config.dataDir, 'temporal');
  const shared = { env, log, signal, guard };
  const options = {
    ...shared,
    programs: await findTemporalServer({ ...shared, cacheRoot: cacheRoot() }),
    adminUrl,
    login: { name: 'temporal', password: secrets.TEMPORAL_DATABASE_PASSWORD },
    port: config.temporalPort,
    folder: join(config.dataDir, 'temporal'),
    logFile,
    continueLog: true,
  };
  await prepareTemporalServer(options);
  return {
    name: 'temporal',
    logFile,
    whenItEnds,
    launch: (_, onSpawn) => launchTemporalServer({ ...options, onSpawn }),
    responds: () => isTemporalServing(options.port),
  };
}

/**
 * The APIs, the workers and what runs beside them. An API or a worker reaches the servers through its
 * links.
 */
export function entriesOf(
  { config, apiPorts, metricsPorts }: Plan,
  links: Links,
  shared: Record<string, string>,
): Entry<MemberName>[] {
  const linked = (name: MemberName) => {
    const { DATABASE_URL = '', SANDBOX_RAZORPAY_BASE_URL = '' } = shared;
    const gateway = links.link(name, 'gateway-simulator');
    return {
      DATABASE_URL: throughProxy(DATABASE_URL, links.link(name, 'postgres')),
      SANDBOX_RAZORPAY_BASE_URL: throughProxy(SANDBOX_RAZORPAY_BASE_URL, gateway),
      TEMPORAL_ADDRESS: links.link(name, 'temporal').address,
    };
  };
  const services = [...metricsPorts].map(([name, metricsPort]): Entry<MemberName> => {
    const apiPort = apiPorts.get(name);
    const place = apiPort !== undefined && { HOST: LOOPBACK, PORT: String(apiPort) };
    return {
      name,
      entry: place ? 'src/main/api.ts' : 'src/main/worker.ts',
      logFile: logFileOf(config.dataDir, name),
      env: { ...linked(name), METRICS_PORT: String(metricsPort), ...place },
      readyUrl: `${localUrl(LOOPBACK, apiPort ?? metricsPort)}/readyz`,
    };
  });
  return [
    ...services,
    { name: 'gateway-simulator', entry: 'dev/gateway-simulator.ts' },
    { name: 'mailbox', entry: 'dev/mailbox.ts', env: { HOST: LOOPBACK } },
  ];
}
