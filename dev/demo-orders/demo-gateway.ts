import { createCallbacks } from '../gateway-simulator/callbacks/callbacks.ts';
import { SERVICE_EVENTS } from '../gateway-simulator/callbacks/service-events.ts';
import { createRandom } from '../gateway-simulator/random.ts';
import type { CallbackEvent, Changes } from '../gateway-simulator/state/store.ts';
import { openStore } from '../gateway-simulator/state/store.ts';

/**
 * The gateway simulator's operations in this process, at moments of the past. The journal of a simulator is not
 * opened: `journalLine` is stored with the orders.
 */
export function createDemoGateway(publicUrl: string, nowMs: () => number) {
  const memory = openStore(undefined);
  let done: Changes = {};
  const store = {
    ...memory,
    commit(changes: Changes) {
      memory.commit(changes);
      const merged = Object.entries(changes).map(([table, rows]) => {
        return [table, { ...done[table as keyof Changes], ...rows }];
      });
      done = { ...done, ...(Object.fromEntries(merged) as Changes) };
    },
  };
  const callbacks = createCallbacks({
    store,
    callbackUrl: undefined,
    callbackEvents: SERVICE_EVENTS,
    webhookSecret: '',
    retryDelaysMs: [],
    timeoutMs: 0,
    random: createRandom(1),
    log: { info: () => undefined, warn: () => undefined },
  });
  callbacks.update({ hold: true });
  return {
    gateway: {
      store,
      callbacks,
      now: () => Math.floor(nowMs() / 1000),
      publicUrl: () => publicUrl,
    },
    /** The callbacks since the last call, which count as accepted. */
    takeCallbacks(): CallbackEvent[] {
      const held = store.all('events').filter(({ state }) => state === 'held');
      const accepted = { state: 'accepted', attempts: 1, lastOutcome: '200' } as const;
      store.commit({
        events: Object.fromEntries(held.map((event) => [event.id, { ...event, ...accepted }])),
      });
      return held;
    },
    /** The line with which the simulator's journal begins: all that was done. */
    journalLine: () => `${JSON.stringify(done)}\n`,
  };
}

/** See {@link createDemoGateway}. */
export type DemoGateway = ReturnType<typeof createDemoGateway>;
