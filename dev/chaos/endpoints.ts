import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isAuthentic } from '../demo/receiver.ts';
import type { Random } from '../gateway-simulator/random.ts';
import type { Acknowledged, ReceivedEvent } from './acknowledged.ts';

/** How a merchant's endpoint behaves. */
export const BEHAVIOURS = [
  'answers 200',
  'sometimes answers 500',
  'sometimes hangs',
  'is sometimes down',
  'always answers 500',
] as const;
/** One of {@link BEHAVIOURS}. */
export type Behaviour = (typeof BEHAVIOURS)[number];

const HOST = '127.0.0.1';
const PART_THAT_FAILS = 0.25;
const PART_THAT_HANGS = 0.03;
const UP_MS = 30_000;
const DOWN_MS = 15_000;

/** A merchant's endpoint, which verifies each webhook and records it. */
export interface Endpoint {
  readonly url: string;
  useSecret(webhookSecret: string): void;
  /** Answers 200 from now on, except if it always answers 500. */
  recover(): void;
  stop(): void;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Decides each answer; undefined leaves the request without one. */
type Answering = () => 200 | 500 | undefined;

/** @param isTroubled false once the endpoint has recovered */
function answering(behaviour: Behaviour, isTroubled: () => boolean, random: Random): Answering {
  return () => {
    switch (behaviour) {
      case 'always answers 500':
        return 500;
      case 'sometimes answers 500':
        return isTroubled() && random.next() < PART_THAT_FAILS ? 500 : 200;
      case 'sometimes hangs':
        return isTroubled() && random.next() < PART_THAT_HANGS ? undefined : 200;
      case 'answers 200':
      case 'is sometimes down':
        return 200;
    }
  };
}

/** Verifies a webhook and records it. @returns undefined if its signature is wrong */
async function receive(
  request: IncomingMessage,
  secret: string,
  { received, surprises }: Required<Acknowledged>,
): Promise<ReceivedEvent | undefined> {
  const rawBody = await bodyOf(request);
  const header = (name: string) => String(request.headers[name] ?? '');
  const { event_id: eventId, data } = JSON.parse(rawBody.toString('utf8')) as {
    event_id: string;
    data: { order_number: string };
  };
  const { order_number: orderNumber } = data;
  const signature = header('x-service-signature');
  if (!isAuthentic(secret, header('x-service-timestamp'), rawBody, signature)) {
    surprises.push({ subject: orderNumber, fault: `the signature of ${eventId} is wrong` });
    return undefined;
  }
  const event = received.get(eventId) ?? {
    orderNumber,
    bodyHashes: new Set<string>(),
    attempts: 0,
    accepted: 0,
  };
  received.set(eventId, event);
  event.attempts += 1;
  event.bodyHashes.add(createHash('sha256').update(rawBody).digest('hex'));
  return event;
}

/** Closes the server for a while, again and again, until the signal. */
async function comeAndGo(server: Server, port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(UP_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    server.close();
    server.closeAllConnections();
    await delay(DOWN_MS, undefined, { signal }).catch(() => undefined);
    server.listen(port, HOST);
  }
}

/** Starts an endpoint on a free port of the loopback interface. */
export async function startEndpoint(
  behaviour: Behaviour,
  acknowledged: Required<Acknowledged>,
  random: Random,
): Promise<Endpoint> {
  let secret = '';
  const recovery = new AbortController();
  const answer = answering(behaviour, () => !recovery.signal.aborted, random);

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const event = await receive(request, secret, acknowledged);
    const status = event ? answer() : 401;
    if (event && status === 200) event.accepted += 1;
    // Without an answer the sender closes the connection once it has waited long enough.
    if (status !== undefined) response.writeHead(status).end();
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  }).listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  if (behaviour === 'is sometimes down') void comeAndGo(server, port, recovery.signal);

  return {
    url: `http://${HOST}:${port}/webhooks`,
    useSecret(webhookSecret) {
      secret = webhookSecret;
    },
    recover: () => recovery.abort(),
    stop() {
      recovery.abort();
      server.close();
      server.closeAllConnections();
    },
  };
}
