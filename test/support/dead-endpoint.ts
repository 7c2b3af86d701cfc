import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createUrlCheck } from '../../src/main/webhook-rules.ts';
import { saveWebhookUrl } from '../../src/webhooks/endpoints.ts';
import type { Merchant } from './merchant.ts';
import type { TestService } from './service.ts';

/** A server that takes connections and never answers, at every address of this machine's loopback. */
export async function startDeadEndpoint() {
  const held: Socket[] = [];
  const server = createServer((socket) => {
    held.push(socket);
    socket.on('error', () => {}).resume();
  }).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    /** Connections so far. */
    held,
    /** Addresses differ in origin, so that their places are their own. */
    urlAt: (address: string) => `http://${address}:${port}/hook`,
    async stop() {
      for (const socket of held) socket.destroy();
      server.close();
    },
  };
}

/** A merchant whose webhooks of the sandbox go to an URL. */
export async function merchantWithEndpoint(service: TestService, url: string): Promise<Merchant> {
  const merchant = await service.newMerchant({ webhooks: false });
  const { sql, config, deps } = service;
  const checkUrl = createUrlCheck(config);
  const endpointDeps = { sql, secretBox: deps.secretBox, checkUrl, actor: 'test' };
  await saveWebhookUrl(endpointDeps, merchant.merchantId, 'sandbox', url);
  return merchant;
}
