import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { SetupError } from '../../src/setup-error.ts';
import { startEmbeddedPostgres, type EmbeddedPostgresOptions } from '../postgres/server.ts';
import { acceptsConnections } from '../processes/ports.ts';
import { describeExit, type ServerProcess } from '../processes/server-process.ts';
import { launchEntry, LOOPBACK, statusOf, type Launcher } from '../start/parts.ts';
import { isTemporalServing } from '../processes/temporal-process.ts';
import {
  launchTemporalServer,
  type TemporalServerOptions,
} from '../temporal-on-postgres/server.ts';
import { startTemporalUi, type TemporalUiOptions } from '../temporal-on-postgres/ui.ts';
import type { MemberName, MemberPlan } from './member.ts';

/** A frozen server accepts connections and does not respond. */
const RESPONSE_TIMEOUT_MS = 2500;

const POLL_MS = 50;

/** Whether PostgreSQL answers a query within the time-out. */
async function answersQuery(url: string): Promise<boolean> {
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

/** PostgreSQL, and the URL of its superuser once it has started. */
export function postgresMember(
  options: EmbeddedPostgresOptions,
): MemberPlan & { adminUrl(): string } {
  let adminUrl = '';
  return {
    name: 'postgres',
    logFile: options.logFile,
    async launch(_, onSpawn) {
      const started = await startEmbeddedPostgres({ ...options, continueLog: true, onSpawn });
      adminUrl = started.adminUrl;
    },
    responds: () => answersQuery(adminUrl),
    adminUrl: () => adminUrl,
  };
}

/** The Temporal server, which must have been prepared. */
export function temporalMember(options: TemporalServerOptions): MemberPlan {
  return {
    name: 'temporal',
    logFile: options.logFile,
    launch: (_, onSpawn) => launchTemporalServer({ ...options, continueLog: true, onSpawn }),
    responds: () => isTemporalServing(options.port),
  };
}

/** The Temporal Web UI. */
export function temporalUiMember(options: TemporalUiOptions): MemberPlan {
  return {
    name: 'temporal-ui',
    logFile: options.logFile,
    launch: (_, onSpawn) => startTemporalUi({ ...options, continueLog: true, onSpawn }),
    responds: () => acceptsConnections(LOOPBACK, options.port),
  };
}

/** A process of this repository. */
interface EntryMember {
  readonly name: MemberName;
  /** The file that it runs, relative to the repository. */
  readonly entry: string;
  readonly logFile: string;
  readonly launcher: Launcher;
  /** It is ready when it responds with 200 at this URL; otherwise when it reports it. */
  readonly readyUrl?: string;
}

async function untilOk(url: string, { exited }: ServerProcess): Promise<void> {
  let ended = false;
  void exited.then(() => (ended = true));
  while ((await statusOf(url, RESPONSE_TIMEOUT_MS)) !== '200') {
    if (ended) return;
    await delay(POLL_MS);
  }
}

/** An API, a worker, the gateway simulator or the mailbox. */
export function entryMember({ name, entry, logFile, launcher, readyUrl }: EntryMember): MemberPlan {
  return {
    name,
    logFile,
    async launch({ env, repository }, onSpawn) {
      const changed = { ...launcher, env: { ...launcher.env, ...env } };
      const place = { repository, logFile, continueLog: true };
      const server = await launchEntry(changed, entry, place);
      onSpawn(server);
      const ready = readyUrl === undefined ? server.ready : untilOk(readyUrl, server);
      const exit = await Promise.race([ready, server.exited]);
      if (exit) throw new SetupError(describeExit(exit));
    },
    responds: async () =>
      readyUrl === undefined || (await statusOf(readyUrl, RESPONSE_TIMEOUT_MS)) === '200',
  };
}
