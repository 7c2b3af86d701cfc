import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A webhook as the endpoint received it. */
export interface ReceivedWebhook {
  headers: IncomingHttpHeaders;
  rawBody: string;
  event: string;
  body: {
    event: string;
    event_id: string;
    sequence: number;
    timestamp: string;
    data: Record<string, unknown>;
  };
  at: number;
}

/** A merchant's endpoint over real HTTP; responds 200 unless `answerWith` changes it. */
export async function startWebhookReceiver(now: () => number | Promise<number> = Date.now) {
  const received: ReceivedWebhook[] = [];
  let waiting: (() => void)[] = [];
  let answer: (webhook: ReceivedWebhook) => number | Promise<number> = () => 200;
  const server = createServer(async (request, response) => {
    // A sender that is killed in the middle of its request has sent nothing.
    const rawBody = await text(request).catch(() => undefined);
    if (rawBody === undefined) return;
    const body = JSON.parse(rawBody) as ReceivedWebhook['body'];
    const webhook = { headers: request.headers, rawBody, body, event: body.event, at: await now() };
    received.push(webhook);
    const status = answer(webhook);
    for (const wake of waiting.splice(0)) wake();
    response.statusCode = await status;
    response.end('ok');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    received,
    /** Sets the status of each response from now on; a promise makes the sender wait for it. */
    answerWith(decide: (webhook: ReceivedWebhook) => number | Promise<number>) {
      answer = decide;
    },
    /** Resolves once `count` matching webhooks have arrived. */
    async until(count: number, matches: (webhook: ReceivedWebhook) => boolean = () => true) {
      while (received.filter(matches).length < count) {
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      return received.filter(matches);
    },
    async stop() {
      waiting = [];
      server.close();
      server.closeAllConnections();
    },
  };
}
export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>;
