import type { CallbackEvent } from './book.ts';
import { UNDISTURBED, planCallback } from './callback-plan.ts';
import type { Announcement, CallbackPlan, CallbackSettings } from './callback-plan.ts';
import { createCallbackSender } from './callback-sender.ts';
import type { SenderOptions } from './callback-sender.ts';
import { createCounter } from './counter.ts';
import { shuffled } from './random.ts';
import type { Random } from './random.ts';

export type ReleaseOrder = 'as_created' | 'reversed' | 'shuffled';

export interface Callbacks {
  readonly settings: CallbackSettings;
  update(settings: { [Name in keyof CallbackSettings]?: CallbackSettings[Name] | undefined }): void;
  /** Draws up an event, not yet written anywhere. */
  plan(announcement: Announcement, now: number): CallbackPlan;
  dispatch(plan: CallbackPlan): void;
  /** Sends what was held, one after the other in this order; answers how many. */
  release(order: ReleaseOrder): number;
  resend(eventId: string): void;
  /** Sends again what an earlier process did not bring to an end. */
  resume(): void;
  /** Once nothing is on its way any more. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** The callbacks of a simulator: what is sent, when, how often, and in what order. */
export function createCallbacks(options: SenderOptions & { random: Random }): Callbacks {
  const { book, random } = options;
  const settings: CallbackSettings = { ...UNDISTURBED };
  const sender = createCallbackSender(options);
  const counter = createCounter();
  const start = (eventId: string, delayMs = 0) =>
    void counter.during(sender.deliver(eventId, delayMs));

  async function deliverInTurn(events: CallbackEvent[]): Promise<void> {
    for (const { id } of events) await sender.deliver(id, 0);
  }

  return {
    settings,
    update: (change) => void Object.assign(settings, change),
    plan: (announcement, now) => planCallback(announcement, now, { settings, random }),

    dispatch({ event, copies, delayMs }) {
      if (event.state !== 'waiting') return;
      for (let copy = 0; copy < copies; copy += 1) start(event.id, delayMs);
    },

    release(order) {
      const held = book.all('events').filter(({ state }) => state === 'held');
      const released = held.map((event) => [event.id, { ...event, state: 'waiting' }] as const);
      book.commit({ events: Object.fromEntries(released) });
      const orders = {
        as_created: () => held,
        reversed: () => held.toReversed(),
        shuffled: () => shuffled(held, random),
      };
      void counter.during(deliverInTurn(orders[order]()));
      return held.length;
    },

    resend: (eventId) => start(eventId),
    resume() {
      for (const { id, state } of book.all('events')) if (state === 'waiting') start(id);
    },
    settled: () => counter.idle(),

    async close() {
      await sender.close();
      await counter.idle();
    },
  };
}
