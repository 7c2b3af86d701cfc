import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createUrlCheck } from '../../src/main/compose/webhook-rules.ts';
import { saveWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import { TEST_ACTOR } from './actor.ts';
import type { Merchant } from './merchant.ts';
import type { TestService } from './service.ts';

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

/** A merchant whose sandbox webhooks are sent to a URL. */
export async function merchantWithEndpoint(service: TestService, url: string): Promise<Merchant> {
  const merchant = await service.newMerchant({ webhooks: false });
  const { sql, config, deps } = service;
  const checkUrl = createUrlCheck(config);
  const endpointDeps = { sql, secretBox: deps.secretBox, checkUrl, actor: TEST_ACTOR };
  await saveWebhookUrl(endpointDeps, merchant.merchantId, 'sandbox', url);
  return merchant;
}
