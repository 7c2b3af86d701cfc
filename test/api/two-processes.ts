import type { ApiClient } from '../support/api-client.ts';
import { startApiProcess } from '../support/api-process.ts';
import { startTestService } from '../support/service.ts';

export type TwoProcesses = Awaited<ReturnType<typeof startTwoProcesses>>;

/** A service with a worker, served by two API processes: this one and one of its own. */
export async function startTwoProcesses() {
  const service = await startTestService({ time: 'real' });
  const worker = await service.startWorker();
  const merchant = await service.newMerchant({ webhooks: false });
  const second = await startApiProcess(service);
  const api = merchant.sandbox;
  const both: readonly [ApiClient, ApiClient] = [api, second.as(merchant.keys)];
  return {
    service,
    merchant,
    /** The merchant at this process. */
    api,
    /** The merchant at each of the two. */
    both,
    second,
    /** The kinds of an order's steps so far. */
    async stepsOf(orderNumber: string): Promise<string[]> {
      const rows = await service.sql<{ kind: string }[]>`
        SELECT kind FROM order_steps WHERE order_number = ${orderNumber} ORDER BY step_number`;
      return rows.map(({ kind }) => kind);
    },
    async stop() {
      await second.stop();
      await worker.stop();
      await service.stop();
    },
  };
}
