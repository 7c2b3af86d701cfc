import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { cpuMsOf, HAS_CPU_TIMES } from '../harness/cpu-time.ts';
import { receivedMails } from '../../dev/mailbox/received.ts';
import { startServiceOnPostgres } from '../service-on-postgres.ts';
import { createLifecycleClient } from './order-lifecycle.ts';
import { startReceiver } from '../../dev/load/receiver.ts';

const run = promisify(execFile);

/** An idle service uses a smaller share of one processor, including Temporal's housekeeping. */
const IDLE_SHARE = 0.15;
const IDLE_POLL_MS = 500;
const IDLE_TIMEOUT_MS = 15_000;

/**
 * Starts the whole service of a checkout: PostgreSQL, Temporal, API, worker and gateway simulator in
 * separate processes, and a merchant with a webhook endpoint.
 *
 * @param folder the real path of a checkout with `node_modules`
 * @param settings of the service, beside the rate limit's
 */
export async function startSide(
  folder: string,
  concurrency: number,
  settings: Record<string, string> = {},
) {
  const service = await startServiceOnPostgres({
    settings: { RATE_LIMIT_PER_SECOND: '1000000', ...settings },
    repository: folder,
  });
  const receiver = await startReceiver();
  const stop = async () => {
    receiver.stop();
    await service.stop();
  };
  try {
    const { apiBaseUrl, demoMerchant } = service.facts;
    await saveWebhookUrl(folder, service.dataDir, demoMerchant.merchantId, receiver.url);
    const merchant = { origin: apiBaseUrl, ...demoMerchant.sandbox };
    const cpuMs = () => cpuMsOf(service.pids);
    return {
      folder,
      commit: await describeCommit(folder),
      ...createLifecycleClient(merchant, receiver, concurrency),
      /** CPU milliseconds of each kind so far. */
      cpuMs,
      waitUntilIdle: () => waitUntilIdle(cpuMs),
      /** The ids of the mails in the side's mailbox, whose CPU time is not counted. */
      mailIds: () => [...receivedMails(service.dataDir).keys()],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
/** See {@link startSide}. */
export type Side = Awaited<ReturnType<typeof startSide>>;

/** Uses the checkout's admin command, because checkouts may store the URL differently. */
export async function saveWebhookUrl(
  folder: string,
  dataDir: string,
  merchantId: string,
  url: string,
) {
  const ownAdmin = join(folder, 'dev/admin.ts');
  const admin = existsSync(ownAdmin) ? ownAdmin : join(folder, 'src/main/admin.ts');
  const options = ['--merchant', merchantId, '--environment', 'sandbox', '--url', url];
  const env = { PATH: process.env['PATH'], DATA_DIR: dataDir };
  await run(process.execPath, [admin, 'webhook', 'set', ...options], { env });
}

/** Waits until the side is idle, so that the rest of its round does not slow the other side. */
async function waitUntilIdle(cpuMs: () => Record<string, number>): Promise<void> {
  const total = () => Object.values(cpuMs()).reduce((sum, ms) => sum + ms, 0);
  const deadline = performance.now() + IDLE_TIMEOUT_MS;
  let before = total();
  while (performance.now() < deadline) {
    await delay(IDLE_POLL_MS);
    const after = total();
    if (HAS_CPU_TIMES && after - before <= IDLE_POLL_MS * IDLE_SHARE) return;
    before = after;
  }
}

/** The commit of a checkout, marked when it has uncommitted changes. */
async function describeCommit(folder: string): Promise<string> {
  try {
    const { stdout } = await run('git', ['-C', folder, 'describe', '--always', '--dirty']);
    return stdout.trim();
  } catch {
    return 'not a git checkout';
  }
}
