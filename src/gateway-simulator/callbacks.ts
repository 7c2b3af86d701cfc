import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Book, CallbackEvent } from './book.ts';
import { newId, shuffled } from './random.ts';
import type { Random } from './random.ts';
import type { SimulatorLog } from './options.ts';

/** What goes wrong on the way; drawn for each event from the seeded generator. */
export interface CallbackSettings {
  dropProbability: number;
  duplicateProbability: number;
  delayMs: { min: number; max: number };
  /** Nothing is sent until it is released, in whatever order. */
  hold: boolean;
}

/** An event, and what chance has in store for it. */
export interface CallbackPlan {
  event: CallbackEvent;
  copies: number;
  delayMs: number;
}

export type ReleaseOrder = 'as_created' | 'reversed' | 'shuffled';

export interface Callbacks {
  readonly settings: CallbackSettings;
  update(settings: { [Name in keyof CallbackSettings]?: CallbackSettings[Name] | undefined }): void;
  /** Draws up an event, not yet written anywhere. */
  prepare(name: string, entities: Readonly<Record<string, unknown>>, now: number): CallbackPlan;
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

export interface CallbackOptions {
  book: Book;
  callbackUrl: string | undefined;
  webhookSecret: string;
  retryDelaysMs: readonly number[];
  timeoutMs: number;
  random: Random;
  log: SimulatorLog;
}

/** The account that the simulator plays; it is in every callback. */
const ACCOUNT_ID = 'acc_SimulatorAcct1';

function eventBody(name: string, entities: Readonly<Record<string, unknown>>, now: number): string {
  const payload = Object.fromEntries(
    Object.entries(entities).map(([key, entity]) => [key, { entity }]),
  );
  const contains = Object.keys(entities);
  const head = { entity: 'event', account_id: ACCOUNT_ID, event: name };
  return JSON.stringify({ ...head, contains, payload, created_at: now });
}

/** Always the same number of draws, so that one event's luck does not depend on another's. */
function draw({ settings, random }: { settings: CallbackSettings; random: Random }) {
  const [drop, duplicate, late] = [random.next(), random.next(), random.next()];
  const { min, max } = settings.delayMs;
  return {
    isDropped: drop < settings.dropProbability,
    copies: duplicate < settings.duplicateProbability ? 2 : 1,
    delayMs: min + late * (max - min),
  };
}

/** Sends one event once. @returns whether it was taken, and what came back */
async function post(options: CallbackOptions, agent: Agent, event: CallbackEvent) {
  if (options.callbackUrl === undefined) return { isTaken: false, outcome: 'no callback address' };
  const { webhookSecret } = options;
  const signature = createHmac('sha256', webhookSecret).update(event.body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-razorpay-signature': signature,
    'x-razorpay-event-id': event.id,
  };
  try {
    const signal = AbortSignal.timeout(options.timeoutMs);
    const message = {
      method: 'POST',
      headers,
      body: event.body,
      signal,
      dispatcher: agent,
    } as const;
    const { statusCode, body } = await request(options.callbackUrl, message);
    await body.dump();
    return { isTaken: statusCode >= 200 && statusCode < 300, outcome: String(statusCode) };
  } catch (error) {
    return { isTaken: false, outcome: error instanceof Error ? error.message : 'unknown error' };
  }
}

/** Counts what is under way, and tells when it is nothing. */
function createCounter() {
  let running = 0;
  let waiting: (() => void)[] = [];
  return {
    async during(work: Promise<void>): Promise<void> {
      running += 1;
      await work.finally(() => (running -= 1));
      if (running > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    idle: () =>
      new Promise<void>((resolve) => {
        if (running === 0) resolve();
        else waiting.push(resolve);
      }),
  };
}

/** Delivers callbacks as Razorpay does: signed, at least once, again after anything but a 2xx. */
export function createCallbacks(options: CallbackOptions): Callbacks {
  const { book, random, retryDelaysMs, log } = options;
  const settings: CallbackSettings = {
    dropProbability: 0,
    duplicateProbability: 0,
    delayMs: { min: 0, max: 0 },
    hold: false,
  };
  const agent = new Agent({ connections: 32 });
  const closing = new AbortController();
  const counter = createCounter();

  function note(id: string, change: Partial<CallbackEvent>): void {
    const event = book.get('events', id);
    // The second copy of a delivered event may fail; the event is delivered all the same.
    if (closing.signal.aborted || event === undefined || event.state === 'delivered') return;
    book.commit({ events: { [id]: { ...event, ...change } } });
  }

  async function attempt(id: string): Promise<boolean> {
    const event = book.get('events', id);
    if (event === undefined) return true;
    const { isTaken, outcome } = await post(options, agent, event);
    const attempts = (book.get('events', id)?.attempts ?? 0) + 1;
    note(id, { attempts, lastOutcome: outcome, ...(isTaken && { state: 'delivered' }) });
    return isTaken;
  }

  async function deliver(id: string, delayMs: number): Promise<void> {
    try {
      if (delayMs > 0) await delay(delayMs, undefined, { signal: closing.signal });
      for (const retryDelayMs of retryDelaysMs) {
        if (await attempt(id)) return;
        await delay(retryDelayMs, undefined, { signal: closing.signal });
      }
      if (await attempt(id)) return;
      note(id, { state: 'failed' });
      log.warn({ eventId: id }, 'a callback was given up');
    } catch (error) {
      // Only the end of the simulator interrupts a wait; the event stays waiting in the journal.
      if (!closing.signal.aborted) throw error;
    }
  }

  const start = (id: string, delayMs = 0) => void counter.during(deliver(id, delayMs));

  async function deliverInTurn(events: CallbackEvent[]): Promise<void> {
    for (const { id } of events) await deliver(id, 0);
  }

  return {
    settings,
    update: (change) => void Object.assign(settings, change),

    prepare(name, entities, now) {
      const { isDropped, copies, delayMs } = draw({ settings, random });
      const fate = isDropped ? 'dropped' : 'waiting';
      const event: CallbackEvent = {
        id: newId('evt_'),
        name,
        body: eventBody(name, entities, now),
        state: settings.hold ? 'held' : fate,
        attempts: 0,
        lastOutcome: null,
      };
      return { event, copies, delayMs };
    },

    dispatch({ event, copies, delayMs }) {
      if (event.state !== 'waiting') return;
      for (let copy = 0; copy < copies; copy += 1) start(event.id, delayMs);
    },

    release(order) {
      const held = book.all('events').filter(({ state }) => state === 'held');
      for (const { id } of held) note(id, { state: 'waiting' });
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
      closing.abort();
      await agent.destroy();
      await counter.idle();
    },
  };
}
