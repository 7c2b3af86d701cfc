import { createSecureContext } from 'node:tls';
import { createLimiter } from '../../limiter.ts';
import { checkWebhookUrl } from './address-guard.ts';
import { WebhookAgent } from './connections.ts';
import { parseRange } from './denied-ranges.ts';
import { exchange, refusedBeforeSending, resultOf } from './exchange.ts';
import type { OutgoingRequest, SendResult, WebhookResponse } from './exchange.ts';
import {
  isClosedByPeer,
  isLocalResourceError,
  NotHttpFault,
  WebhookNotAttemptedError,
} from './faults.ts';
import { connectGuarded } from './guarded-connector.ts';
import { createDnsLookup } from './resolve-host.ts';
import type { HostLookup } from './resolve-host.ts';
import type { WebhookRequest } from './signed-request.ts';
import { sentHeaders } from './signed-request.ts';

export { WebhookNotAttemptedError } from './faults.ts';
export type { SendResult } from './exchange.ts';

export type WebhookSender = ReturnType<typeof createWebhookSender>;

/** The most webhooks in progress over all origins, and the most that wait up to a second for a slot. */
const MAX_CONCURRENT_SENDS = 1024;
const MAX_QUEUED_SENDS = 1024;
/** The limit of pending calls of `send`. Beyond it, `send` fails immediately with `busy`. */
export const MAX_UNANSWERED_SENDS = MAX_CONCURRENT_SENDS + MAX_QUEUED_SENDS;

/** The limits of the sender. */
const DEFAULTS = {
  /** For the TCP and the TLS handshake together, after the name was resolved. Source: contract, Durations. */
  connectTimeoutMs: 5000,
  /** For the whole attempt, from the moment when it has its slot. Source: contract, Durations. */
  totalTimeoutMs: 15_000,
  maxResponseBytes: 16_384,
  /** The longest head of a response. */
  maxHeaderBytes: 16_384,
  maxConcurrentSends: MAX_CONCURRENT_SENDS,
  maxConnectionsPerOrigin: 8,
  maxQueued: MAX_QUEUED_SENDS,
  maxQueuedPerOrigin: 32,
  queueTimeoutMs: 1000,
  maxIdleConnections: 512,
  /** If a receiver sends `Keep-Alive: timeout`, that is used instead, up to `maxConnectionAgeMs`. */
  keepAliveTimeoutMs: 4000,
  maxConnectionAgeMs: 60_000,
};

/** What the sender may connect to, and other limits than {@link DEFAULTS}. */
export type WebhookSenderOptions = Partial<typeof DEFAULTS> & {
  allowedCidrs: readonly string[];
  deniedPorts: readonly number[];
  lookup?: HostLookup;
  /** PEM. Trusted instead of Node's root certificates. */
  caCertificates?: string[];
};

type Settings = WebhookSenderOptions & typeof DEFAULTS;

interface Agents {
  reusing: WebhookAgent;
  /** Makes a new connection for each webhook. */
  opening: WebhookAgent;
}

function createAgents(settings: Settings): Agents {
  const { caCertificates, lookup = createDnsLookup() } = settings;
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...(caCertificates && { ca: caCertificates }),
  });
  const options = {
    ...settings,
    connect: (target: URL, signal: AbortSignal) =>
      connectGuarded(target, signal, { ...settings, lookup, secureContext }),
  };
  return {
    reusing: new WebhookAgent({ ...options, keepAlive: true }),
    opening: new WebhookAgent({ ...options, keepAlive: false }),
  };
}

/**
 * Limits the webhooks in progress by origin. The share of one origin falls from its full limit to one as the slots
 * fill: 200 dead endpoints with 8 slots each never fill 1,024.
 */
function createEndpointLimiter(settings: Settings) {
  const limits = {
    ofAll: settings.maxConcurrentSends,
    ofOne: settings.maxConnectionsPerOrigin,
    isShareFalling: true,
    maxWaiting: settings.maxQueuedPerOrigin,
    maxWaitingOfAll: settings.maxQueued,
    maxWaitMs: settings.queueTimeoutMs,
  };
  return createLimiter(limits, () => new WebhookNotAttemptedError('busy'));
}

/**
 * A receiver may close an idle connection while we write to it (RFC 9112, section 9.3.1), and bytes that follow its
 * previous response may arrive only then. Neither counts as a failed attempt.
 */
function hadEndedWhileIdle({ isReused, fault }: WebhookResponse): boolean {
  return isReused && fault !== null && (isClosedByPeer(fault) || fault instanceof NotHttpFault);
}

/** Makes one exchange. One whose reused connection had ended does not count, and is made again on a new one. */
async function exchangeOnce(
  { reusing, opening }: Agents,
  request: OutgoingRequest,
  limits: Settings & { startedAtMs: number },
): Promise<WebhookResponse> {
  const response = await exchange(reusing, request, limits);
  return hadEndedWhileIdle(response) ? exchange(opening, request, limits) : response;
}

/** @throws WebhookNotAttemptedError `exhausted` when this machine is out of sockets or memory */
function throwIfNotAttempted({ fault }: WebhookResponse): void {
  if (fault !== null && isLocalResourceError(fault)) {
    throw new WebhookNotAttemptedError('exhausted', { cause: fault });
  }
}

/**
 * Creates the sender of all webhooks. It reuses connections to the same origin, checks each when it is made, and
 * limits the numbers of active and idle ones. It follows no redirect and reads no proxy variable.
 *
 * @throws TypeError when an entry of `allowedCidrs` is not an address range
 */
export function createWebhookSender(options: WebhookSenderOptions) {
  const settings: Settings = { ...DEFAULTS, ...options };
  options.allowedCidrs.forEach(parseRange);
  const agents = createAgents(settings);
  const slots = createEndpointLimiter(settings);
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;

  async function sendNow(request: WebhookRequest): Promise<SendResult> {
    const { environment, headers, body } = request;
    const checked = checkWebhookUrl(request.url, { ...settings, environment });
    if (!checked.ok) return refusedBeforeSending(`the URL ${checked.reason}`);
    const target = checked.url;
    return slots.run(target.origin, async () => {
      const startedAtMs = performance.now();
      const post = { target, headers: sentHeaders(target, headers, body.length), body };
      const response = await exchangeOnce(agents, post, { ...settings, startedAtMs });
      throwIfNotAttempted(response);
      return resultOf(response, startedAtMs);
    });
  }

  return {
    /**
     * Makes one attempt. Whatever the receiver does, it returns a `SendResult` within `totalTimeoutMs` (plus at most
     * `queueTimeoutMs` for a free slot).
     *
     * @throws WebhookNotAttemptedError when nothing was sent for an internal reason; the caller retries later
     * without counting an attempt
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

    /** The numbers of webhooks that wait or are in progress, and of idle connections. */
    stats: () => ({ underWay: underWay.size, idle: agents.reusing.idleStats() }),

    /** Refuses new webhooks, waits for those in progress, then closes every connection. */
    async close(): Promise<void> {
      isClosed = true;
      await Promise.allSettled(underWay);
      agents.reusing.destroy();
    },
  };
}
