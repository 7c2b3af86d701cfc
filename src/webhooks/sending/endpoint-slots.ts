import { WebhookNotAttemptedError } from './faults.ts';

export interface SlotOptions {
  /** The most webhooks in progress, over all origins. */
  maxConcurrentSends: number;
  /** The same for one origin. Its share shrinks as fewer slots are free. */
  maxConnectionsPerOrigin: number;
  /** How many webhooks may wait for a slot, over all origins and for one, and for how long. */
  maxQueued: number;
  maxQueuedPerOrigin: number;
  queueTimeoutMs: number;
}

interface Endpoint {
  active: number;
  /** The functions that give each waiting webhook its slot, in order of arrival. */
  waiting: (() => void)[];
}

/**
 * Limits how many webhooks are in progress, so that slow endpoints cannot occupy every slot.
 *
 * An origin's share is its full limit while all slots are free and falls in proportion to the free slots, down to
 * one: 200 dead endpoints with 8 slots each therefore never fill 1,024 slots.
 */
export function createEndpointSlots(options: SlotOptions) {
  /** Contains only origins with webhooks in progress. */
  const endpoints = new Map<string, Endpoint>();
  let active = 0;
  let waiting = 0;

  function hasFreeSlot(endpoint: Endpoint): boolean {
    const free = 1 - active / options.maxConcurrentSends;
    return endpoint.active < Math.ceil(options.maxConnectionsPerOrigin * free);
  }

  function occupy(origin: string, endpoint: Endpoint): () => void {
    endpoint.active += 1;
    active += 1;
    return () => {
      endpoint.active -= 1;
      active -= 1;
      while (endpoint.waiting.length > 0 && hasFreeSlot(endpoint)) endpoint.waiting.shift()?.();
      if (endpoint.active === 0) endpoints.delete(origin);
    };
  }

  async function waitForSlot(origin: string, endpoint: Endpoint): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const enter = () => resolve(occupy(origin, endpoint));
    endpoint.waiting.push(enter);
    waiting += 1;
    const timer = setTimeout(() => {
      endpoint.waiting.splice(endpoint.waiting.indexOf(enter), 1);
      reject(new WebhookNotAttemptedError('busy'));
    }, options.queueTimeoutMs);
    return promise.finally(() => {
      clearTimeout(timer);
      waiting -= 1;
    });
  }

  return {
    /** The number of webhooks in progress and of their origins. */
    stats: () => ({ originCount: endpoints.size, sendCount: active }),

    /**
     * Takes a slot for one webhook to an origin. Waits up to `queueTimeoutMs` for a free one.
     *
     * @returns a function that frees the slot; call it once
     * @throws WebhookNotAttemptedError `busy` when no slot is free in time
     */
    async acquire(origin: string): Promise<() => void> {
      const endpoint = endpoints.get(origin) ?? { active: 0, waiting: [] };
      if (active < options.maxConcurrentSends) {
        endpoints.set(origin, endpoint);
        if (hasFreeSlot(endpoint)) return occupy(origin, endpoint);
        const isQueueFull =
          waiting >= options.maxQueued || endpoint.waiting.length >= options.maxQueuedPerOrigin;
        if (!isQueueFull) return waitForSlot(origin, endpoint);
      }
      throw new WebhookNotAttemptedError('busy');
    },
  };
}
