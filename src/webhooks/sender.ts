import { createSecureContext } from 'node:tls';
import { Client } from 'undici';
import type { Environment } from '../domain/index.ts';
import { checkWebhookUrl } from './address-guard.ts';
import { createConnections } from './connections.ts';
import type { Connection, Connections } from './connections.ts';
import { parseRange } from './denied-ranges.ts';
import { createEndpointSlots } from './endpoint-slots.ts';
import { exchange } from './exchange.ts';
import type { Answer, Message } from './exchange.ts';
import { isClosedByPeer, isOurFault, WebhookNotAttemptedError } from './faults.ts';
import { createGuardedConnector } from './guarded-connector.ts';
import { createDnsLookup } from './resolve-host.ts';
import type { HostLookup } from './resolve-host.ts';
import { refusedUnsent, resultOf } from './send-result.ts';
import type { SendResult } from './send-result.ts';

export { WebhookNotAttemptedError } from './faults.ts';
export type { SendResult } from './send-result.ts';

export interface WebhookSenderOptions {
  allowedCidrs: readonly string[];
  deniedPorts: readonly number[];
  dnsTimeoutMs?: number;
  /** For the TCP and the TLS handshake together, after the name was resolved. */
  connectTimeoutMs?: number;
  /** For the whole attempt, from the moment it has its place. */
  totalTimeoutMs?: number;
  maxAnswerBytes?: number;
  /** Bytes of an answer's headers. */
  maxHeaderBytes?: number;
  maxConcurrentSends?: number;
  maxConnectionsPerOrigin?: number;
  maxQueued?: number;
  maxQueuedPerOrigin?: number;
  queueTimeoutMs?: number;
  maxIdleConnections?: number;
  /** A receiver's `Keep-Alive: timeout` is followed instead, up to `maxConnectionAgeMs`. */
  keepAliveTimeoutMs?: number;
  maxConnectionAgeMs?: number;
  lookup?: HostLookup;
  /** Trusted instead of the usual ones, PEM. */
  caCertificates?: string[];
}

export interface WebhookRequest {
  url: string;
  environment: Environment;
  /** Sent as they are; `Host` and `Content-Length` are added. */
  headers: Readonly<Record<string, string>>;
  /** The bytes that were signed. */
  body: Buffer;
  /** So many may be under way to its origin at once, where that is fewer than usual. */
  places?: number;
}

export type WebhookSender = ReturnType<typeof createWebhookSender>;

/** Webhooks under way over all origins, and those that wait for a place, up to a second each. */
const MOST_UNDER_WAY = 1024;
const MOST_WAITING = 1024;
/** So many calls of `send` can be unanswered: what is more is refused at once as `busy`. */
export const MOST_WEBHOOKS_AT_ONCE = MOST_UNDER_WAY + MOST_WAITING;

const DEFAULTS = {
  // Contract, Durations: 5 s to connect, 15 s in all.
  dnsTimeoutMs: 3000,
  connectTimeoutMs: 5000,
  totalTimeoutMs: 15_000,
  maxAnswerBytes: 16_384,
  maxHeaderBytes: 16_384,
  maxConcurrentSends: MOST_UNDER_WAY,
  maxConnectionsPerOrigin: 8,
  maxQueued: MOST_WAITING,
  maxQueuedPerOrigin: 32,
  queueTimeoutMs: 1000,
  maxIdleConnections: 512,
  keepAliveTimeoutMs: 4000,
  maxConnectionAgeMs: 60_000,
} as const;

type Settings = WebhookSenderOptions & Required<Pick<WebhookSenderOptions, keyof typeof DEFAULTS>>;

/** Connections whose every socket passes the guard; undici's own clocks are off, ours count. */
function createGuardedConnections(settings: Settings): Connections {
  const { caCertificates, lookup = createDnsLookup(settings.dnsTimeoutMs) } = settings;
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...(caCertificates && { ca: caCertificates }),
  });
  return createConnections({
    ...settings,
    openClient: (origin, signal) =>
      new Client(origin, {
        connect: createGuardedConnector({ ...settings, lookup, secureContext, signal }),
        headersTimeout: 0,
        bodyTimeout: 0,
        maxHeaderSize: settings.maxHeaderBytes,
        keepAliveTimeout: settings.keepAliveTimeoutMs,
        keepAliveMaxTimeout: Math.max(1, settings.maxConnectionAgeMs),
        allowH2: false,
        useMilo: false,
      }),
  });
}

/**
 * A receiver may close an idle connection at the very moment at which we write to it. That is
 * nobody's failed attempt (RFC 9112, section 9.3.1), so it does not count as one.
 */
function wasClosedWhileIdle({ exchangeCount }: Connection, { statusCode, fault }: Answer): boolean {
  return exchangeCount > 1 && statusCode === null && fault !== null && isClosedByPeer(fault);
}

interface AttemptContext {
  connections: Connections;
  settings: Settings;
  /** On the clock of `performance.now()`. */
  startedAtMs: number;
}

async function attempt(
  origin: string,
  message: Message,
  { connections, settings, startedAtMs }: AttemptContext,
): Promise<Answer> {
  const limits = { ...settings, startedAtMs };
  let connection = connections.take(origin);
  let answer = await exchange(connection, message, limits);
  if (wasClosedWhileIdle(connection, answer)) {
    connections.discard(connection);
    connection = connections.open(origin);
    answer = await exchange(connection, message, limits);
  }
  if (answer.reusable) connections.keep(connection);
  else connections.discard(connection);
  return answer;
}

/**
 * @throws WebhookNotAttemptedError `exhausted` when our own machine is at its limits
 * @throws Error of undici when the request itself is wrong, such as a header with a line break
 */
function throwIfOurs({ fault }: Answer): void {
  if (fault === null) return;
  if (isOurFault(fault)) throw new WebhookNotAttemptedError('exhausted', { cause: fault });
  if ('code' in fault && fault.code === 'UND_ERR_INVALID_ARG') throw fault;
}

/**
 * Makes the one thing that posts webhooks. Its connections are kept between webhooks to the same
 * origin, each was checked when it was made, and both the number under way and the number idle are
 * bounded. It follows no redirect and reads no proxy variable.
 *
 * @throws TypeError when an entry of `allowedCidrs` is no address range.
 */
export function createWebhookSender(options: WebhookSenderOptions) {
  const settings: Settings = { ...DEFAULTS, ...options };
  options.allowedCidrs.forEach(parseRange);
  const connections = createGuardedConnections(settings);
  const slots = createEndpointSlots(settings);
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;

  async function sendNow(request: WebhookRequest): Promise<SendResult> {
    const { environment, headers, body } = request;
    const checked = checkWebhookUrl(request.url, { ...settings, environment });
    if (!checked.ok) return refusedUnsent(`the URL ${checked.reason}`);
    const { origin, pathname, search } = checked.url;
    const release = await slots.acquire(origin, request.places);
    const startedAtMs = performance.now();
    try {
      const message = { path: `${pathname}${search}`, headers, body };
      const answer = await attempt(origin, message, { connections, settings, startedAtMs });
      throwIfOurs(answer);
      return resultOf(answer, startedAtMs);
    } finally {
      release();
    }
  }

  return {
    /**
     * Makes one attempt. Whatever the receiver does is a `SendResult`, within `totalTimeoutMs`
     * (plus at most `queueTimeoutMs` of waiting for a place).
     *
     * @throws WebhookNotAttemptedError when nothing was sent for a reason of ours: try again
     *   later, without counting an attempt.
     */
    async send(request: WebhookRequest): Promise<SendResult> {
      if (isClosed) throw new WebhookNotAttemptedError('closed');
      const sending = sendNow(request);
      underWay.add(sending);
      try {
        return await sending;
      } finally {
        underWay.delete(sending);
      }
    },

    /** How many webhooks are under way and how many connections are idle, for metrics. */
    stats: () => ({ underWay: slots.stats(), idle: connections.stats() }),

    /** Takes no more, lets what is under way finish, then closes every connection. */
    async close(): Promise<void> {
      isClosed = true;
      await Promise.allSettled(underWay);
      connections.close();
    },
  };
}
