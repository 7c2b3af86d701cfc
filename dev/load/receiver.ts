import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createRandom, type Random } from '../gateway-simulator/random.ts';
import type { Memory, ReceivedEvent } from './memory.ts';

/** Of a behaviour: the parts of its requests that an endpoint answers with 500, and that it does not answer. */
interface Rates {
  readonly fails?: number;
  readonly hangs?: number;
  /** Whether it drops connections for a third of the time. */
  readonly isSometimesDown?: boolean;
}

/** How a merchant's endpoint behaves. */
const BEHAVIOURS = {
  'answers 200': {},
  'sometimes answers 500': { fails: 0.25 },
  'sometimes hangs': { hangs: 0.03 },
  'is sometimes down': { isSometimesDown: true },
  'always answers 500': { fails: 1 },
  hangs: { hangs: 1 },
} as const satisfies Record<string, Rates>;
type Behaviour = keyof typeof BEHAVIOURS;

const HOST = '127.0.0.1';
const UP_MS = 30_000;
const DOWN_MS = 15_000;
const MAX_AGE_SECONDS = 300;

/** A merchant's endpoint, which verifies each webhook and remembers it. */
export interface Receiver {
  readonly url: string;
  /** Verifies signatures from now on. */
  useSecret(webhookSecret: string): void;
  /** Changes its behaviour; requests that hang fail. */
  behave(behaviour: Behaviour): void;
  /**
   * Resolves when an event of an order has arrived, or when what has arrived of it is enough.
   *
   * @throws AbortError when `signal` aborts before
   */
  until(orderNumber: string, wanted: Wanted, signal?: AbortSignal): Promise<void>;
  stop(): void;
}

/** What a receiver does, and where it remembers it; it answers 200 and remembers by itself by default. */
export interface ReceiverOptions {
  readonly behaviour?: Behaviour;
  readonly memory?: Pick<Memory, 'received' | 'surprises'>;
  readonly random?: Random;
  /** Called with each webhook whose signature is right. */
  readonly onWebhook?: (event: ReceivedEvent) => void;
}

/** Verifies a webhook. Source: the specification's "Signature verification rules". */
function isAuthentic(secret: string, rawBody: Buffer, headers: IncomingMessage['headers']) {
  const header = (name: string) => String(headers[name] ?? '');
  const timestamp = header('x-service-timestamp');
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest();
  const given = Buffer.from(header('x-service-signature'), 'hex');
  return (
    Math.abs(Date.now() / 1000 - Number(timestamp)) <= MAX_AGE_SECONDS &&
    given.length === expected.length &&
    timingSafeEqual(given, expected)
  );
}

interface WebhookBody {
  readonly event: string;
  readonly event_id: string;
  readonly sequence: number;
  readonly data: { readonly order_number: string; readonly status: string };
}

/** Remembers a webhook in `received`. @returns its event */
function remember(
  received: Map<string, ReceivedEvent>,
  { event: type, event_id: eventId, sequence, data }: WebhookBody,
  rawBody: Buffer,
): ReceivedEvent {
  const { order_number: orderNumber, status } = data;
  const event = received.get(eventId) ?? {
    orderNumber,
    type,
    sequence,
    status,
    bodyHashes: new Set<string>(),
    atMs: Date.now(),
    accepted: 0,
  };
  received.set(eventId, event);
  event.bodyHashes.add(createHash('sha256').update(rawBody).digest('hex'));
  return event;
}

/** What {@link Receiver.until} waits for: an event of this type, or enough events. */
type Wanted = string | ((events: readonly ReceivedEvent[]) => boolean);

const isEnough = (events: readonly ReceivedEvent[], wanted: Wanted): boolean =>
  typeof wanted === 'function' ? wanted(events) : events.some(({ type }) => type === wanted);

/** Starts an endpoint on a free port of the loopback interface. */
export async function startReceiver({
  behaviour: first = 'answers 200',
  memory = { received: new Map(), surprises: [] },
  random = createRandom(1),
  onWebhook = () => undefined,
}: ReceiverOptions = {}): Promise<Receiver> {
  let secret: string | undefined;
  let behaviour = first;
  const hanging = new Set<ServerResponse>();
  const ofOrders = new Map<string, Set<ReceivedEvent>>();
  /** Emits the number of an order when one of its events has arrived. */
  const arrivals = new EventEmitter().setMaxListeners(0);

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { fails = 0, hangs = 0, isSometimesDown }: Rates = BEHAVIOURS[behaviour];
    const isDown = isSometimesDown === true && Date.now() % (UP_MS + DOWN_MS) > UP_MS;
    if (isDown) return void response.destroy();
    const rawBody = await buffer(request);
    const body = JSON.parse(rawBody.toString('utf8')) as WebhookBody;
    const subject = body.data.order_number;
    if (secret !== undefined && !isAuthentic(secret, rawBody, request.headers)) {
      memory.surprises.push({ subject, fault: `the signature of ${body.event_id} is wrong` });
      return void response.writeHead(401).end();
    }
    const event = remember(memory.received, body, rawBody);
    ofOrders.set(subject, (ofOrders.get(subject) ?? new Set()).add(event));
    // Without an answer the sender closes the connection once it has waited long enough.
    if (random.next() < hangs) hanging.add(response);
    else if (random.next() < fails) response.writeHead(500).end();
    else {
      event.accepted += 1;
      response.writeHead(200).end();
    }
    onWebhook(event);
    arrivals.emit(subject);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  }).listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://${HOST}:${port}/webhooks`,
    async until(orderNumber, wanted, signal) {
      while (!isEnough([...(ofOrders.get(orderNumber) ?? [])], wanted)) {
        await once(arrivals, orderNumber, signal && { signal });
      }
    },
    useSecret(webhookSecret) {
      secret = webhookSecret;
    },
    behave(next) {
      behaviour = next;
      for (const response of hanging) response.destroy();
      hanging.clear();
    },
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
