import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createUrlCheck } from '../../src/main/compose/webhook-rules.ts';
import { saveWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import { TEST_ACTOR } from './actor.ts';
import { stoppedAtEnd } from './fixtures.ts';
import type { Merchant } from './merchant.ts';
import { serviceTest } from './service-test.ts';
import type { TestService } from './service.ts';
import { startWorkerProcess } from './worker-process.ts';

/** A server that accepts connections and never responds, on every loopback address. */
export async function startDeadEndpoint() {
  const held: Socket[] = [];
  const server = createServer((socket) => {
    held.push(socket);
    socket.on('error', () => {}).resume();
  }).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    /** The number of connections so far. */
    held,
    /** Each number gives another address and so another origin, with separate places. */
    urlAt: (address: string) => `http://${address}:${port}/hook`,
    async stop() {
      for (const socket of held) socket.destroy();
      server.close();
    },
  };
}

/**
 * The `test` of a file with a dead endpoint. Its worker is a separate process, so that its work for
 * the dead endpoint does not load the test's process.
 */
export function deadEndpointTest() {
  const test = serviceTest({ time: 'real', worker: false })
    .extend('workerProcess', { scope: 'file' }, async ({ service }, { onCleanup }) => {
      const worker = await startWorkerProcess(service);
      onCleanup(() => worker.kill());
      return worker;
    })
    .extend('endpoint', { scope: 'file' }, ({ options: _options }, { onCleanup }) =>
      stoppedAtEnd(startDeadEndpoint(), onCleanup),
    );
  test.beforeAll(({ workerProcess }) => void workerProcess);
  return test;
}

/** A merchant whose sandbox webhooks are sent to a URL. */
export async function merchantWithEndpoint(service: TestService, url: string): Promise<Merchant> {
  const merchant = await service.newMerchant({ webhooks: false });
  const { sql, config, deps } = service;
  const checkUrl = createUrlCheck(config);
  const endpointDeps = { sql, secretBox: deps.secretBox, checkUrl, actor: TEST_ACTOR };
  await saveWebhookUrl(endpointDeps, merchant.merchantId, 'sandbox', url);
  return merchant;
}
