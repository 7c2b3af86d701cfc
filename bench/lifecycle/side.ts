import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startReceiver } from '../../dev/load/receiver.ts';
import { cpuMsOf, HAS_CPU_TIMES } from '../harness/cpu-time.ts';
import { startServiceOnPostgres } from '../service-on-postgres.ts';
import { createLifecycleClient } from './order-lifecycle.ts';

/** An idle service uses a smaller share of one processor, including Temporal's housekeeping. */
const IDLE_SHARE = 0.15;
const IDLE_POLL_MS = 500;
const IDLE_TIMEOUT_MS = 15_000;

/**
 * Starts the whole service of a checkout: PostgreSQL, Temporal, API, worker and gateway simulator in
 * separate processes, and a merchant with a webhook endpoint.
 *
 * @param side its name in the report, the real path of a checkout with `node_modules`, and settings of
 *   the service beside the rate limit's
 */
export async function startSide(
  side: { name: string; folder: string; settings?: Record<string, string> },
  concurrency: number,
) {
  const { name, folder, settings = {} } = side;
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
      name,
      ...createLifecycleClient(merchant, receiver, concurrency),
      cpuMs,
      waitUntilIdle: () => waitUntilIdle(cpuMs),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
export type Side = Awaited<ReturnType<typeof startSide>>;

/** Uses the checkout's admin command, because checkouts may store the URL differently. */
async function saveWebhookUrl(folder: string, dataDir: string, merchantId: string, url: string) {
  const command = [join(folder, 'dev/admin.ts'), 'webhook', 'set'];
  const options = ['--merchant', merchantId, '--environment', 'sandbox', '--url', url];
  const env = { PATH: process.env['PATH'], DATA_DIR: dataDir };
  await promisify(execFile)(process.execPath, [...command, ...options], { env });
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
