import { type SenderOptions, createCallbackSender } from './callback-sender.ts';
import { type Random, newId, shuffled } from './random.ts';
import type { CallbackEvent } from './store.ts';

/** What goes wrong on the way; drawn for each event from the seeded generator. */
export interface CallbackSettings {
  dropProbability: number;
  duplicateProbability: number;
  delayMs: { min: number; max: number };
  /** Nothing is sent until it is released, in whatever order. */
  hold: boolean;
}

/** Everything arrives, once, at once. */
const UNDISTURBED: Readonly<CallbackSettings> = {
  dropProbability: 0,
  duplicateProbability: 0,
  delayMs: { min: 0, max: 0 },
  hold: false,
};

/** A callback to be: its name, and the entities in it by their names. */
export interface Announcement {
  name: string;
  entities: Readonly<Record<string, unknown>>;
}

/** An event, and what chance has in store for it. */
export interface CallbackPlan {
  event: CallbackEvent;
  copies: number;
  delayMs: number;
}

/** The account that the simulator plays; it is in every callback. */
const ACCOUNT_ID = 'acc_SimulatorAcct1';

function eventBody({ name, entities }: Announcement, now: number): string {
  const payload = Object.fromEntries(
    Object.entries(entities).map(([key, entity]) => [key, { entity }]),
  );
  const contains = Object.keys(entities);
  const head = { entity: 'event', account_id: ACCOUNT_ID, event: name };
  return JSON.stringify({ ...head, contains, payload, created_at: now });
}

/** Draws up an event, not yet written anywhere. */
function planCallback(
  announcement: Announcement,
  now: number,
  { settings, random }: { settings: CallbackSettings; random: Random },
): CallbackPlan {
  // Always the same number of draws, so that one event's luck does not depend on another's.
  const [drop, duplicate, late] = [random.next(), random.next(), random.next()];
  const { min, max } = settings.delayMs;
  const fate = drop < settings.dropProbability ? 'dropped' : 'waiting';
  const event: CallbackEvent = {
    id: newId('evt_'),
    name: announcement.name,
    body: eventBody(announcement, now),
    state: settings.hold ? 'held' : fate,
    attempts: 0,
    lastOutcome: null,
  };
  const copies = duplicate < settings.duplicateProbability ? 2 : 1;
  return { event, copies, delayMs: min + late * (max - min) };
}

/** Counts what is under way, and tells when it is nothing. */
export interface Counter {
  during(work: Promise<void>): Promise<void>;
  idle(): Promise<void>;
}

/** Starts at nothing. */
function createCounter(): Counter {
  let running = 0;
  let waiting: (() => void)[] = [];
  return {
    async during(work) {
      running += 1;
      await work.finally(() => (running -= 1));
      if (running > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    idle: () =>
      new Promise((resolve) => {
        if (running === 0) resolve();
        else waiting.push(resolve);
      }),
  };
}

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
  const { store, random } = options;
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
      const held = store.all('events').filter(({ state }) => state === 'held');
      const released = held.map((event) => [event.id, { ...event, state: 'waiting' }] as const);
      store.commit({ events: Object.fromEntries(released) });
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
      for (const { id, state } of store.all('events')) if (state === 'waiting') start(id);
    },
    settled: () => counter.idle(),

    async close() {
      await sender.close();
      await counter.idle();
    },
  };
}
