import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A webhook whose signature was verified as the specification requires of merchants. */
export interface VerifiedWebhook {
  event: string;
  eventId: string;
  sequence: number;
  orderNumber: string;
  status: string;
}

const MAX_AGE_SECONDS = 300;

/** Verifies a webhook. Source: the specification's "Signature verification rules". */
export function isAuthentic(
  secret: string,
  timestamp: string,
  rawBody: Buffer,
  signature: string,
): boolean {
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest();
  const given = Buffer.from(signature, 'hex');
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  return (
    ageSeconds <= MAX_AGE_SECONDS &&
    given.length === expected.length &&
    timingSafeEqual(given, expected)
  );
}

/** Starts a merchant's webhook endpoint on a free port of the loopback interface. */
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
    const { event, event_id: eventId, sequence, data } = JSON.parse(rawBody.toString('utf8'));
    const { order_number: orderNumber, status } = data;
    const webhook: VerifiedWebhook = { event, eventId, sequence, orderNumber, status };
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
    /** @throws AbortError when `signal` aborts before the webhook arrives */
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
/** See {@link startReceiver}. */
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;
