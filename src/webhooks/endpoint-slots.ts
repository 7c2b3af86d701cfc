import { WebhookNotAttemptedError } from './faults.ts';

export interface SlotOptions {
  /** Webhooks under way at the same time, over all origins. */
  maxConcurrentSends: number;
  /** The same for one origin, while there is room; its share shrinks as the room does. */
  maxConnectionsPerOrigin: number;
  /** Webhooks that may wait for a place, over all origins and for one; how long each of them does. */
  maxQueued: number;
  maxQueuedPerOrigin: number;
  queueTimeoutMs: number;
  /** After which an attempt gives its place back, whatever the endpoint does. */
  totalTimeoutMs: number;
}

/** What an attempt takes at an endpoint that is not known yet. */
const UNKNOWN_ATTEMPT_MS = 500;

interface Waiting {
  maxConnections: number;
  enter(): void;
}

/** Times are those of `performance.now()`. */
interface Endpoint {
  /** What is under way, the oldest first. */
  places: Set<{ startedAtMs: number }>;
  waiting: Waiting[];
  /** When the last attempt ended, and how long attempts have taken lately. */
  endedAtMs: number;
  usualMs: number;
}

/**
 * Says how many webhooks may be under way at once, so that slow endpoints cannot take every place.
 *
 * One origin's share is its full number while nothing else is going on and falls in proportion to
 * the places left, down to one: 200 dead endpoints of 8 each therefore never fill 1,024 places.
 */
export function createEndpointSlots(options: SlotOptions) {
  /** Only origins with something under way. */
  const endpoints = new Map<string, Endpoint>();
  let active = 0;
  let waiting = 0;

  function hasRoom({ places }: Endpoint, maxConnections: number): boolean {
    const free = 1 - active / options.maxConcurrentSends;
    const share = Math.min(maxConnections, options.maxConnectionsPerOrigin) * free;
    return places.size < Math.ceil(share);
  }

  function occupy(origin: string, endpoint: Endpoint): () => void {
    const place = { startedAtMs: performance.now() };
    endpoint.places.add(place);
    active += 1;
    return () => {
      endpoint.places.delete(place);
      active -= 1;
      endpoint.endedAtMs = performance.now();
      endpoint.usualMs = (endpoint.usualMs + endpoint.endedAtMs - place.startedAtMs) / 2;
      admitWaiting(endpoint, hasRoom);
      if (endpoint.places.size === 0) endpoints.delete(origin);
    };
  }

  async function waitForRoom(
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
      reject(busyAt(endpoint, options));
    }, options.queueTimeoutMs);
    return promise.finally(() => {
      clearTimeout(timer);
      waiting -= 1;
    });
  }

  return {
    /** What is under way now. */
    stats: () => ({ originCount: endpoints.size, sendCount: active }),

    /**
     * Takes a place for one webhook to an origin; waits a moment if the origin has its share.
     *
     * @param maxConnections for an origin that is to have fewer places than usual
     * @returns what gives the place back, to be called once
     * @throws WebhookNotAttemptedError `busy` when there is no place, nor soon will be.
     */
    async acquire(origin: string, maxConnections = Infinity): Promise<() => void> {
      const known = endpoints.get(origin);
      if (active >= options.maxConcurrentSends) throw busyAt(known, options);
      const endpoint = known ?? newEndpoint();
      endpoints.set(origin, endpoint);
      if (hasRoom(endpoint, maxConnections)) return occupy(origin, endpoint);
      const mayWait =
        waiting < options.maxQueued && endpoint.waiting.length < options.maxQueuedPerOrigin;
      if (!mayWait) throw busyAt(endpoint, options);
      return waitForRoom(origin, endpoint, maxConnections);
    },
  };
}

function newEndpoint(): Endpoint {
  const endedAtMs = performance.now();
  return { places: new Set(), waiting: [], endedAtMs, usualMs: UNKNOWN_ATTEMPT_MS };
}

function admitWaiting(
  endpoint: Endpoint,
  hasRoom: (endpoint: Endpoint, maxConnections: number) => boolean,
): void {
  for (;;) {
    const [first] = endpoint.waiting;
    if (!first || !hasRoom(endpoint, first.maxConnections)) return;
    endpoint.waiting.shift();
    first.enter();
  }
}

function busyAt(
  endpoint: Endpoint | undefined,
  { totalTimeoutMs }: SlotOptions,
): WebhookNotAttemptedError {
  const expectedMs = endpoint ? expectedMsOf(endpoint, totalTimeoutMs) : null;
  return new WebhookNotAttemptedError('busy', { expectedMs });
}

/** An endpoint that has answered nothing for twice its usual time is likely not to answer at all. */
function expectedMsOf({ places, endedAtMs, usualMs }: Endpoint, longestMs: number): number {
  const [oldest] = places;
  const silentSinceMs = Math.max(endedAtMs, oldest?.startedAtMs ?? 0);
  return performance.now() - silentSinceMs > 2 * usualMs ? longestMs : usualMs;
}
