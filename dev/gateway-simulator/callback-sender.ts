import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { SimulatorLog } from './gateway.ts';
import type { Store, CallbackEvent } from './store.ts';

export interface SenderOptions {
  store: Store;
  callbackUrl: string | undefined;
  webhookSecret: string;
  retryDelaysMs: readonly number[];
  timeoutMs: number;
  log: SimulatorLog;
}

export interface CallbackSender {
  /** Sends an event after a wait, again and again until it is taken or given up. Never throws. */
  deliver(eventId: string, delayMs: number): Promise<void>;
  /** Interrupts every wait and every request; what was waiting stays so in the journal. */
  close(): Promise<void>;
}

function signedHeaders({ id, body }: CallbackEvent, webhookSecret: string) {
  return {
    'content-type': 'application/json',
    'x-razorpay-signature': createHmac('sha256', webhookSecret).update(body).digest('hex'),
    'x-razorpay-event-id': id,
  };
}

/** Sends one event once. @returns whether it was taken, and what came back */
async function post(options: SenderOptions, dispatcher: Agent, event: CallbackEvent) {
  const { callbackUrl, webhookSecret, timeoutMs } = options;
  if (callbackUrl === undefined) return { isTaken: false, outcome: 'no callback address' };
  try {
    const { statusCode, body } = await request(callbackUrl, {
      method: 'POST',
      headers: signedHeaders(event, webhookSecret),
      body: event.body,
      signal: AbortSignal.timeout(timeoutMs),
      dispatcher,
    });
    await body.dump();
    return { isTaken: statusCode >= 200 && statusCode < 300, outcome: String(statusCode) };
  } catch (error) {
    return { isTaken: false, outcome: error instanceof Error ? error.message : 'unknown error' };
  }
}

/** Sends as Razorpay does: signed, at least once, again after anything but a 2xx. */
export function createCallbackSender(options: SenderOptions): CallbackSender {
  const { store, retryDelaysMs, log } = options;
  const agent = new Agent({ connections: 32 });
  const closing = new AbortController();
  const wait = (delayMs: number) => delay(delayMs, undefined, { signal: closing.signal });

  function write(eventId: string, change: Partial<CallbackEvent>): void {
    const event = store.get('events', eventId);
    // The second copy of a delivered event may fail; the event is delivered all the same.
    if (closing.signal.aborted || event === undefined || event.state === 'delivered') return;
    // Lost, it is sent once more: nobody was promised that it would not be.
    store.commitLightly({ events: { [eventId]: { ...event, ...change } } });
  }

  /** On a full disk the event is sent again, after a restart if not before: at least once. */
  function note(eventId: string, change: Partial<CallbackEvent>): void {
    try {
      write(eventId, change);
    } catch (err) {
      log.warn({ err, eventId }, 'what became of a callback could not be written down');
    }
  }

  async function attempt(eventId: string): Promise<boolean> {
    const event = store.get('events', eventId);
    if (event === undefined) return true;
    const { isTaken, outcome } = await post(options, agent, event);
    const attempts = (store.get('events', eventId)?.attempts ?? 0) + 1;
    note(eventId, { attempts, lastOutcome: outcome, ...(isTaken && { state: 'delivered' }) });
    return isTaken;
  }

  async function attemptAll(eventId: string): Promise<void> {
    for (const retryDelayMs of retryDelaysMs) {
      if (await attempt(eventId)) return;
      await wait(retryDelayMs);
    }
    if (await attempt(eventId)) return;
    note(eventId, { state: 'failed' });
    log.warn({ eventId }, 'a callback was given up');
  }

  return {
    async deliver(eventId, delayMs) {
      try {
        if (delayMs > 0) await wait(delayMs);
        await attemptAll(eventId);
      } catch (err) {
        // Only the end of the simulator interrupts a wait.
        if (!closing.signal.aborted) log.warn({ err, eventId }, 'a callback could not be sent');
      }
    },
    async close() {
      closing.abort();
      await agent.destroy();
    },
  };
}
