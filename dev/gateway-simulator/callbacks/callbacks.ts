import { z } from 'zod';
import { type SenderOptions, createCallbackSender } from './sender.ts';
import { type Random, newId } from '../random.ts';
import type { CallbackEvent } from '../state/store.ts';

const probability = z.number().min(0).max(1);
/** A duration in a control call. */
export const durationMs = z.number().int().min(0).max(3_600_000);

const disturbances = z.strictObject({
  dropProbability: probability,
  duplicateProbability: probability,
  delayMs: z.strictObject({ min: durationMs, max: durationMs }),
  /** Events are not sent until `release`. */
  hold: z.boolean(),
});
/** The disturbances of callbacks, drawn for each event from the seeded generator. */
type CallbackSettings = z.output<typeof disturbances>;
/** A change of them. */
export const callbackSettings = disturbances.partial();

/** Every event arrives once, immediately. */
const RELIABLE: Readonly<CallbackSettings> = {
  dropProbability: 0,
  duplicateProbability: 0,
  delayMs: { min: 0, max: 0 },
  hold: false,
};

/** A callback to create: its event name, and its entities by their names. */
export interface NewEvent {
  name: string;
  entities: Readonly<Record<string, unknown>>;
}

/** An event with its drawn disturbances. */
interface CallbackPlan {
  event: CallbackEvent;
  copies: number;
  delayMs: number;
}

/** The id of the simulated account, in every callback. */
const ACCOUNT_ID = 'acc_SimulatorAcct1';

function eventBody({ name, entities }: NewEvent, now: number): string {
  const payload = Object.fromEntries(
    Object.entries(entities).map(([key, entity]) => [key, { entity }]),
  );
  const contains = Object.keys(entities);
  const head = { entity: 'event', account_id: ACCOUNT_ID, event: name };
  return JSON.stringify({ ...head, contains, payload, created_at: now });
}

/** Creates an event, which the caller stores. */
function planCallback(
  newEvent: NewEvent,
  now: number,
  { settings, random }: { settings: CallbackSettings; random: Random },
): CallbackPlan {
  // Always the same number of draws, so that events do not influence each other.
  const [drop, duplicate, late] = [random.next(), random.next(), random.next()];
  const { min, max } = settings.delayMs;
  const initialState = drop < settings.dropProbability ? 'dropped' : 'waiting';
  const event: CallbackEvent = {
    id: newId('evt_'),
    name: newEvent.name,
    body: eventBody(newEvent, now),
    state: settings.hold ? 'held' : initialState,
    attempts: 0,
    lastOutcome: null,
  };
  const copies = duplicate < settings.duplicateProbability ? 2 : 1;
  return { event, copies, delayMs: min + late * (max - min) };
}

/** The order in which held events are released. */
type ReleaseOrder = 'as_created' | 'reversed';

/** Creates the callbacks of a simulator, which decide when, how often and in what order to send. */
export function createCallbacks(
  options: SenderOptions & { random: Random; callbackEvents: readonly string[] | undefined },
) {
  const { store, random, callbackEvents } = options;
  const settings: CallbackSettings = { ...RELIABLE };
  const sender = createCallbackSender(options);
  const running = new Set<Promise<void>>();
  const track = (work: Promise<void>) => {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
  };
  const start = (eventId: string, delayMs = 0) => track(sender.send(eventId, delayMs));
  /** Resolves when no callback is under way. */
  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all(running);
  }

  async function sendInOrder(events: CallbackEvent[]): Promise<void> {
    for (const { id } of events) await sender.send(id, 0);
  }

  return {
    settings,
    update: (change: z.output<typeof callbackSettings>) => void Object.assign(settings, change),
    /** Whether an event of this name is sent at all. */
    isChosen: (name: string) => callbackEvents?.includes(name) ?? true,
    /** Creates an event, which the caller stores. */
    plan: (newEvent: NewEvent, now: number) => planCallback(newEvent, now, { settings, random }),

    dispatch({ event, copies, delayMs }: CallbackPlan): void {
      if (event.state !== 'waiting') return;
      for (let copy = 0; copy < copies; copy += 1) start(event.id, delayMs);
    },

    /** Sends the held events one after the other. @returns their number */
    release(order: ReleaseOrder): number {
      const held = store.all('events').filter(({ state }) => state === 'held');
      const released = held.map((event) => [event.id, { ...event, state: 'waiting' }] as const);
      store.commit({ events: Object.fromEntries(released) });
      track(sendInOrder(order === 'reversed' ? held.toReversed() : held));
      return held.length;
    },

    resend: (eventId: string) => start(eventId),
    isDisabled: sender.isDisabled,
    enable: sender.enable,
    /** Sends the events that an earlier process did not complete. */
    resume(): void {
      for (const { id, state } of store.all('events')) if (state === 'waiting') start(id);
    },
    idle,

    async close(): Promise<void> {
      await sender.close();
      await idle();
    },
  };
}

/** The callbacks of a simulator. */
export type Callbacks = ReturnType<typeof createCallbacks>;
