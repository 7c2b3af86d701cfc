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
}

interface Endpoint {
  active: number;
  waiting: (() => void)[];
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

  function hasRoom(endpoint: Endpoint): boolean {
    const free = 1 - active / options.maxConcurrentSends;
    return endpoint.active < Math.ceil(options.maxConnectionsPerOrigin * free);
  }

  function occupy(endpoint: Endpoint): void {
    endpoint.active += 1;
    active += 1;
  }

  function release(origin: string, endpoint: Endpoint): void {
    endpoint.active -= 1;
    active -= 1;
    while (endpoint.waiting.length > 0 && hasRoom(endpoint)) endpoint.waiting.shift()?.();
    if (endpoint.active === 0) endpoints.delete(origin);
  }

  async function waitForRoom(endpoint: Endpoint): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const enter = (): void => {
      occupy(endpoint);
      resolve();
    };
    endpoint.waiting.push(enter);
    waiting += 1;
    const timer = setTimeout(() => {
      endpoint.waiting.splice(endpoint.waiting.indexOf(enter), 1);
      reject(new WebhookNotAttemptedError('busy'));
    }, options.queueTimeoutMs);
    await promise.finally(() => {
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
     * @returns what gives the place back, to be called once
     * @throws WebhookNotAttemptedError `busy` when there is no place, nor soon will be.
     */
    async acquire(origin: string): Promise<() => void> {
      if (active >= options.maxConcurrentSends) throw new WebhookNotAttemptedError('busy');
      const endpoint = endpoints.get(origin) ?? { active: 0, waiting: [] };
      endpoints.set(origin, endpoint);
      const mayWait =
        waiting < options.maxQueued && endpoint.waiting.length < options.maxQueuedPerOrigin;
      if (hasRoom(endpoint)) occupy(endpoint);
      else if (!mayWait) {
        throw new WebhookNotAttemptedError('busy');
      } else await waitForRoom(endpoint);
      return () => release(origin, endpoint);
    },
  };
}
