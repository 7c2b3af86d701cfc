import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Store, CallbackEvent } from '../state/store.ts';
import { switchOf } from '../switches.ts';

/** The simulator's logger; pino implements it. */
export interface SimulatorLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

/** How callbacks are sent. */
export interface SenderOptions {
  store: Store;
  callbackUrl: string | undefined;
  webhookSecret: string;
  retryDelaysMs: readonly number[];
  timeoutMs: number;
  log: SimulatorLog;
}

function signedHeaders({ id, body }: CallbackEvent, webhookSecret: string) {
  return {
    'content-type': 'application/json',
    'x-razorpay-signature': createHmac('sha256', webhookSecret).update(body).digest('hex'),
    'x-razorpay-event-id': id,
  };
}

/** Sends one event once. @returns whether it was accepted, and the status code or error */
async function post(options: SenderOptions, dispatcher: Agent, event: CallbackEvent) {
  const { callbackUrl, webhookSecret, timeoutMs } = options;
  if (callbackUrl === undefined) return { isAccepted: false, outcome: 'no callback address' };
  try {
    const { statusCode, body } = await request(callbackUrl, {
      method: 'POST',
      headers: signedHeaders(event, webhookSecret),
      body: event.body,
      signal: AbortSignal.timeout(timeoutMs),
      dispatcher,
    });
    await body.dump();
    return { isAccepted: statusCode >= 200 && statusCode < 300, outcome: String(statusCode) };
  } catch (error) {
    return { isAccepted: false, outcome: error instanceof Error ? error.message : 'unknown error' };
  }
}

/** The only endpoint. */
const ENDPOINT = 'service';

/** Sends as Razorpay does: signed, at least once, with retries after anything but a 2xx. */
export function createCallbackSender(options: SenderOptions) {
  const { store, retryDelaysMs, log } = options;
  const agent = new Agent({ connections: 32 });
  const closing = new AbortController();
  /** Whether no callback is sent until `enable`. */
  const isDisabled = () => store.get('callbackEndpoints', ENDPOINT)?.isDisabled ?? false;
  const disable = (isNowDisabled: boolean) =>
    store.commit({ callbackEndpoints: { [ENDPOINT]: { isDisabled: isNowDisabled } } });
  const wait = (delayMs: number) => delay(delayMs, undefined, { signal: closing.signal });

  function write(eventId: string, change: Partial<CallbackEvent>): void {
    const event = store.get('events', eventId);
    // The second copy of an accepted event may fail; the event stays accepted.
    if (closing.signal.aborted || event === undefined || event.state === 'accepted') return;
    // If this change is lost, the event is sent again, which at-least-once delivery allows.
    store.commit({ events: { [eventId]: { ...event, ...change } } });
  }

  /** Never throws: on a full disk the event is sent again, at the latest after a restart. */
  function record(eventId: string, change: Partial<CallbackEvent>): void {
    try {
      write(eventId, change);
    } catch (err) {
      log.warn({ err, eventId }, 'the state of a callback could not be recorded');
    }
  }

  /** @returns whether the event has ended */
  async function attempt(eventId: string): Promise<boolean> {
    const event = store.get('events', eventId);
    if (event === undefined) return true;
    if (isDisabled()) {
      record(eventId, { state: 'dropped', lastOutcome: 'callbacks are disabled' });
      return true;
    }
    const { isAccepted, outcome } = await post(options, agent, event);
    const attempts = (store.get('events', eventId)?.attempts ?? 0) + 1;
    record(eventId, { attempts, lastOutcome: outcome, ...(isAccepted && { state: 'accepted' }) });
    return isAccepted;
  }

  async function attemptAll(eventId: string): Promise<void> {
    for (const retryDelayMs of retryDelaysMs) {
      if (await attempt(eventId)) return;
      await wait(retryDelayMs);
    }
    if (await attempt(eventId)) return;
    record(eventId, { state: 'failed' });
    if (switchOf(options, 'disableCallbacks')) disable(true);
    log.warn({ eventId }, 'a callback was given up');
  }

  return {
    /** Sends an event after a delay, with retries until it is accepted or fails. Never throws. */
    async send(eventId: string, delayMs: number): Promise<void> {
      try {
        if (delayMs > 0) await wait(delayMs);
        await attemptAll(eventId);
      } catch (err) {
        // `close` interrupts waits.
        if (!closing.signal.aborted) log.warn({ err, eventId }, 'a callback could not be sent');
      }
    },
    isDisabled,
    enable: () => disable(false),
    /** Interrupts every wait and every request; waiting events stay in the journal. */
    async close(): Promise<void> {
      closing.abort();
      await agent.destroy();
    },
  };
}
