import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { cursorBehind } from '../../typescript/src/client.ts';
import type { Page, Payorders, WebhookEvent } from '../../typescript/src/index.ts';
import { PayordersError, signBody } from '../../typescript/src/index.ts';
import type { Command, Context } from './command.ts';
import { countOf, EXIT, requireText, UsageError } from './command.ts';
import type { Answer } from './forward.ts';
import { answerText, isAway, isDelivered, sendTo } from './forward.ts';
import { endpointOf, requireSecret } from './settings.ts';

const PAGE_SIZE = 100;
/** How long it waits for new events when there are none. */
const IDLE_MS = 1000;
/** The waits between the attempts of an event that is refused, as the service's, but short. */
const RETRY_MS = [1000, 2000, 4000, 8000];
/** An own server that was unavailable gets its events soon after it is back. */
const MOST_AWAY_MS = 8000;
/** Longer, because the service may be unavailable for long, and many programs wait for it. */
const MOST_SERVICE_MS = 30_000;

/** 1, 2, 4 s and so on. */
const waitMs = (failures: number, mostMs: number) => Math.min(mostMs, 1000 * 2 ** (failures - 1));

/** The file with the cursor, which is kept when the program ends. */
function stateFileOf({ env }: Context, given: string | undefined): string {
  const name = `listen-${env['PAYORDERS_API_KEY'] ?? ''}.json`;
  return given ?? join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local/state'), 'payorders', name);
}

/** The place in the events: behind a cursor, or from a time on until there is one. */
type Place = { readonly after: string } | { readonly createdFrom: string };

/**
 * @returns undefined without a file. @throws UsageError for a file without a place, because starting again would
 * lose events
 */
async function readPlace(file: string): Promise<Place | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`The state file ${file} cannot be read: ${error.message}`);
  });
  if (text === undefined) return undefined;
  try {
    const { next, from } = JSON.parse(text) as { next?: unknown; from?: unknown };
    if (typeof next === 'string') return { after: next };
    if (typeof from === 'string') return { createdFrom: from };
  } catch {
    // Reported below.
  }
  throw new UsageError(`The state file ${file} has no place in it: delete it, or use --from`);
}

/** Written to another file and renamed, so that a kill leaves the old place or the new one. */
async function writePlace(file: string, place: Place): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}`;
  const state = 'after' in place ? { next: place.after } : { from: place.createdFrom };
  await writeFile(beside, JSON.stringify(state));
  await rename(beside, file);
}

/**
 * Finds where to begin, and writes that immediately, so that a kill before the first cursor loses nothing. @throws
 * UsageError
 */
async function firstPlace(file: string, from: unknown): Promise<Place> {
  if (typeof from === 'string' && Number.isNaN(Date.parse(from))) {
    throw new UsageError('--from must be a time such as 2026-11-20T09:30:00Z');
  }
  const place: Place =
    typeof from === 'string'
      ? { createdFrom: from }
      : ((await readPlace(file)) ?? { createdFrom: new Date().toISOString() });
  await writePlace(file, place).catch((error: Error) => {
    throw new UsageError(`The state file ${file} cannot be written: ${error.message}`);
  });
  return place;
}

/**
 * Reads the events behind a place, with `once` in one try, which the client has repeated.
 *
 * @returns undefined when the program was asked to end
 * @throws PayordersError for what no waiting mends
 */
async function readPage(
  context: Context,
  { events }: Payorders,
  place: Place,
  isOnce: boolean,
): Promise<Page<WebhookEvent> | undefined> {
  for (let failures = 1; !context.signal.aborted; failures += 1) {
    try {
      const page: Partial<Page<WebhookEvent>> | undefined = await events
        .list({ ...place, size: PAGE_SIZE })
        .page();
      if (Array.isArray(page?.content)) return page as Page<WebhookEvent>;
      const facts = { status: 200, code: 'NO_RESPONSE', isRetryable: true };
      throw new PayordersError('The answer is not one of the service', facts);
    } catch (error) {
      if (context.signal.aborted) return undefined;
      if (isOnce || !(error instanceof PayordersError) || !error.isRetryable) throw error;
      const ms = waitMs(failures, MOST_SERVICE_MS);
      const { message, code, status } = error;
      const line = `The events cannot be read: ${message}. Next try in ${ms / 1000} s`;
      context.print(line, { service: 'away', code, status, message, waitMs: ms });
      await context.sleep(ms);
    }
  }
  return undefined;
}

interface Forwarding {
  readonly url: string;
  readonly secret: string;
  /** Attempts of each event that are lost before the endpoint gets one. */
  readonly lost: number;
  /** Before each attempt. */
  readonly delayMs: number;
  /** An own server that is away counts as one that refuses. */
  readonly isOnce: boolean;
  /** How often in a row the own server was away. */
  awayCount: number;
}

/** Prints once that the own server is unavailable, and once that it is back. @returns whether to wait for it */
function isWaitedFor(context: Context, forwarding: Forwarding, answer: Answer): boolean {
  if (forwarding.isOnce) return false;
  if (isAway(answer)) {
    forwarding.awayCount += 1;
    if (forwarding.awayCount > 1) return true;
    const line = `Your server is away (${answerText(answer)}): the event is sent until it is taken`;
    context.print(line, { endpoint: 'away', ...answer });
    return true;
  }
  if (forwarding.awayCount > 0) context.print('Your server is back', { endpoint: 'back' });
  forwarding.awayCount = 0;
  return false;
}

/**
 * Sends one event until the endpoint accepts it: as long as the own server is away, and five times at most if it
 * refuses.
 *
 * @returns whether it was accepted; undefined when the program was asked to end before that was known
 */
async function forward(
  context: Context,
  event: WebhookEvent,
  forwarding: Forwarding,
): Promise<boolean | undefined> {
  const { url, secret, lost, delayMs } = forwarding;
  const { signal } = context;
  const facts = { event: event.event, eventId: event.event_id };
  const about = `${event.timestamp} ${event.event} ${event.data.order_number}`;
  for (let attempt = 1; attempt <= RETRY_MS.length + 1;) {
    if (delayMs > 0) await context.sleep(delayMs);
    if (signal.aborted) return undefined;
    if (attempt <= lost) {
      context.print(`${about}: attempt ${attempt} is lost`, { ...facts, attempt, lost: true });
      attempt += 1;
      continue;
    }
    const signed = await signBody(JSON.stringify(event), facts, secret);
    const answer = await sendTo(url, signed, { signal });
    if (signal.aborted && !isDelivered(answer)) return undefined;
    if (isWaitedFor(context, forwarding, answer)) {
      await context.sleep(waitMs(forwarding.awayCount, MOST_AWAY_MS));
      continue;
    }
    const line = `${about}: ${answerText(answer)}`;
    context.print(line, { ...facts, orderNumber: event.data.order_number, attempt, ...answer });
    if (isDelivered(answer)) return true;
    const ms = RETRY_MS[attempt - 1];
    if (ms === undefined) return false;
    await context.sleep(ms);
    attempt += 1;
  }
  return false;
}

/** Follows the events and forwards each to an endpoint. */
export const listen: Command = {
  name: 'listen',
  usage: '--forward URL [--from TIME] [--state FILE] [--fail N] [--delay MS] [--once]',
  does: 'Follow the events and send each to your endpoint, signed as the service signs. It continues where it ended',
  options: {
    forward: { type: 'string' },
    from: { type: 'string' },
    state: { type: 'string' },
    fail: { type: 'string' },
    delay: { type: 'string' },
    once: { type: 'boolean' },
  },
  async run(context, given) {
    const { state, from, once } = given.values;
    const isOnce = once === true;
    const forwarding: Forwarding = {
      url: endpointOf(requireText(given, 'forward'), '--forward'),
      secret: await requireSecret(context),
      lost: countOf(given, 'fail', 0),
      delayMs: countOf(given, 'delay', 0),
      isOnce,
      awayCount: 0,
    };
    const client = context.client();
    const file = stateFileOf(context, typeof state === 'string' ? state : undefined);
    let place = await firstPlace(file, from);
    let isAccepted = true;
    for (;;) {
      const page = await readPage(context, client, place, isOnce);
      if (page === undefined) return EXIT.done;
      for (const event of page.content) {
        const accepted = await forward(context, event, forwarding);
        // The place stays before this event.
        if (accepted === undefined) return EXIT.done;
        isAccepted = accepted && isAccepted;
      }
      const next = cursorBehind(page, 'after' in place ? place.after : undefined);
      if (next !== undefined) {
        place = { after: next };
        // Only now: after a kill, the events of this page are sent again, and none is left out.
        await writePlace(file, place);
      } else if (isOnce) {
        return isAccepted ? EXIT.done : EXIT.failed;
      } else {
        await context.sleep(IDLE_MS);
      }
    }
  },
};
