import { WebhookNotAttemptedError } from './faults.ts';

/** The limits of concurrent webhooks. */
export interface SlotOptions {
  /** Webhooks under way at the same time, over all origins. */
  maxConcurrentSends: number;
  /** The same for one origin; its share shrinks as fewer slots are free. */
  maxConnectionsPerOrigin: number;
  /** Webhooks that may wait for a slot, over all origins and for one, and for how long. */
  maxQueued: number;
  maxQueuedPerOrigin: number;
  queueTimeoutMs: number;
  /** The time limit of an attempt, after which its slot is free in any case. */
  totalTimeoutMs: number;
}

/** The assumed duration of an attempt at an endpoint without earlier attempts. */
const UNKNOWN_ATTEMPT_MS = 500;

interface Waiting {
  maxConnections: number;
  enter(): void;
}

/** Times are those of `performance.now()`. */
interface Endpoint {
  /** The attempts under way, the oldest first. */
  active: Set<{ startedAtMs: number }>;
  waiting: Waiting[];
  /** When the last attempt ended, and the moving average of their durations. */
  endedAtMs: number;
  usualMs: number;
}

/**
 * Limits how many webhooks are under way, so that slow endpoints cannot occupy every slot.
 *
 * An origin's share is its full limit while all slots are free and falls in proportion to the free
 * slots, down to one: 200 dead endpoints with 8 slots each therefore never fill 1,024 slots.
 */
export function createEndpointSlots(options: SlotOptions) {
  /** Only origins with attempts under way. */
  const endpoints = new Map<string, Endpoint>();
  let active = 0;
  let waiting = 0;

  function hasFreeSlot({ active: ofOrigin }: Endpoint, maxConnections: number): boolean {
    const free = 1 - active / options.maxConcurrentSends;
    const share = Math.min(maxConnections, options.maxConnectionsPerOrigin) * free;
    return ofOrigin.size < Math.ceil(share);
  }

  function occupy(origin: string, endpoint: Endpoint): () => void {
    const attempt = { startedAtMs: performance.now() };
    endpoint.active.add(attempt);
    active += 1;
    return () => {
      endpoint.active.delete(attempt);
      active -= 1;
      endpoint.endedAtMs = performance.now();
      endpoint.usualMs = (endpoint.usualMs + endpoint.endedAtMs - attempt.startedAtMs) / 2;
      admitWaiting(endpoint, hasFreeSlot);
      if (endpoint.active.size === 0) endpoints.delete(origin);
    };
  }

  async function waitForSlot(
    origin: string,
    endpoint: Endpoint,
    maxConnections: number,
  ): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiter = { maxConnections, enter: () => resolve(occupy(origin, endpoint)) };
    endpoint.waiting.push(waiter);
    waiting += 1;
    const timer = setTimeout(() => {
      endpoint.waiting.splice(endpoint.waiting.indexOf(waiter), 1);
      reject(busyError(endpoint, options));
    }, options.queueTimeoutMs);
    return promise.finally(() => {
      clearTimeout(timer);
      waiting -= 1;
    });
  }

  return {
    /** The number of webhooks under way and of their origins. */
    stats: () => ({ originCount: endpoints.size, sendCount: active }),

    /**
     * Takes a slot for one webhook to an origin; waits up to `queueTimeoutMs` for a free one.
     *
     * @param maxConnections a lower limit for this origin
     * @returns a function that frees the slot; call it once
     * @throws WebhookNotAttemptedError `busy` when no slot is free in time
     */
    async acquire(origin: string, maxConnections = Infinity): Promise<() => void> {
      const known = endpoints.get(origin);
      if (active >= options.maxConcurrentSends) throw busyError(known, options);
      const endpoint = known ?? newEndpoint();
      endpoints.set(origin, endpoint);
      if (hasFreeSlot(endpoint, maxConnections)) return occupy(origin, endpoint);
      const mayWait =
        waiting < options.maxQueued && endpoint.waiting.length < options.maxQueuedPerOrigin;
      if (!mayWait) throw busyError(endpoint, options);
      return waitForSlot(origin, endpoint, maxConnections);
    },
  };
}

function newEndpoint(): Endpoint {
  const endedAtMs = performance.now();
  return { active: new Set(), waiting: [], endedAtMs, usualMs: UNKNOWN_ATTEMPT_MS };
}

function admitWaiting(
  endpoint: Endpoint,
  hasFreeSlot: (endpoint: Endpoint, maxConnections: number) => boolean,
): void {
  for (;;) {
    const [first] = endpoint.waiting;
    if (!first || !hasFreeSlot(endpoint, first.maxConnections)) return;
    endpoint.waiting.shift();
    first.enter();
  }
}

function busyError(
  endpoint: Endpoint | undefined,
  { totalTimeoutMs }: SlotOptions,
): WebhookNotAttemptedError {
  const expectedMs = endpoint ? expectedHoldMs(endpoint, totalTimeoutMs) : null;
  return new WebhookNotAttemptedError('busy', { expectedMs });
}

/** An endpoint that has been silent for twice its usual time probably does not respond at all. */
function expectedHoldMs({ active, endedAtMs, usualMs }: Endpoint, longestMs: number): number {
  const [oldest] = active;
  const silentSinceMs = Math.max(endedAtMs, oldest?.startedAtMs ?? 0);
  return performance.now() - silentSinceMs > 2 * usualMs ? longestMs : usualMs;
}
