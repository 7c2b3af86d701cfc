import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A webhook whose signature was checked as the specification tells merchants to. */
export interface VerifiedWebhook {
  event: string;
  sequence: number;
  status: string;
}

const MAX_AGE_SECONDS = 300;

/** Checks a webhook by the specification's "Signature verification rules", and nothing else. */
function isAuthentic(secret: string, timestamp: string, rawBody: Buffer, signature: string) {
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest();
  const given = Buffer.from(signature, 'hex');
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  return (
    ageSeconds <= MAX_AGE_SECONDS &&
    given.length === expected.length &&
    timingSafeEqual(given, expected)
  );
}

/** The demo merchant's own webhook endpoint, on a free port of this machine. */
export async function startReceiver(onWebhook: (webhook: VerifiedWebhook) => void) {
  let secret = '';
  const arrived: VerifiedWebhook[] = [];
  const arrivals = new EventTarget();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const rawBody = Buffer.concat(chunks);
    const header = (name: string) => String(request.headers[name] ?? '');
    const signature = header('x-service-signature');
    if (!isAuthentic(secret, header('x-service-timestamp'), rawBody, signature)) {
      response.writeHead(401).end();
      return;
    }
    const { event, sequence, data } = JSON.parse(rawBody.toString('utf8'));
    const webhook: VerifiedWebhook = { event, sequence, status: data.status };
    response.writeHead(200).end();
    arrived.push(webhook);
    onWebhook(webhook);
    arrivals.dispatchEvent(new Event('arrival'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    arrived,
    useSecret(webhookSecret: string) {
      secret = webhookSecret;
    },
    /** @throws Error when it does not arrive in time */
    async waitFor(event: string, sequence: number, signal: AbortSignal) {
      while (!arrived.some((seen) => seen.event === event && seen.sequence === sequence)) {
        await once(arrivals, 'arrival', { signal });
      }
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
