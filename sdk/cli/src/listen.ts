import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { WebhookEvent } from '../../typescript/src/index.ts';
import { signBody } from '../../typescript/src/index.ts';
import type { Command, Context } from './command.ts';
import { countOf, EXIT, requireText, requireVariable } from './command.ts';
import { answerText, isDelivered, sendTo } from './forward.ts';

const PAGE_SIZE = 100;
/** How long it waits for new events when there are none. */
const IDLE_MS = 1000;
/** The waits between the attempts of an event, as the service's, but short. */
const RETRY_MS = [1000, 2000, 4000, 8000];

/** Where the cursor is kept: it outlives the program. */
function stateFileOf({ env }: Context, given: string | undefined): string {
  const name = `listen-${env['PAYORDERS_API_KEY'] ?? ''}.json`;
  return given ?? join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local/state'), 'payorders', name);
}

async function readCursor(file: string): Promise<string | undefined> {
  try {
    const { next } = JSON.parse(await readFile(file, 'utf8')) as { next?: string };
    return next;
  } catch {
    return undefined;
  }
}

/** Written beside the file and renamed, so that a kill leaves the old cursor or the new one. */
async function writeCursor(file: string, next: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}`;
  await writeFile(beside, JSON.stringify({ next }));
  await rename(beside, file);
}

interface Forwarding {
  readonly url: string;
  readonly secret: string;
  /** Attempts of each event that are lost before the endpoint gets one. */
  readonly lost: number;
  /** Before each attempt. */
  readonly delayMs: number;
}

/** Sends one event until the endpoint accepts it, five times at most. @returns whether it was accepted */
async function forward(
  context: Context,
  event: WebhookEvent,
  { url, secret, lost, delayMs }: Forwarding,
): Promise<boolean> {
  const facts = { event: event.event, eventId: event.event_id };
  const about = `${event.timestamp} ${event.event} ${event.data.order_number}`;
  for (let attempt = 1; attempt <= RETRY_MS.length + 1; attempt += 1) {
    if (delayMs > 0) await delay(delayMs);
    if (attempt <= lost) {
      context.print(`${about}: attempt ${attempt} is lost`, { ...facts, attempt, lost: true });
      continue;
    }
    const answer = await sendTo(url, await signBody(JSON.stringify(event), facts, secret));
    const line = `${about}: ${answerText(answer)}`;
    context.print(line, { ...facts, orderNumber: event.data.order_number, attempt, ...answer });
    if (isDelivered(answer)) return true;
    const waitMs = RETRY_MS[attempt - 1];
    if (context.signal.aborted || waitMs === undefined) return false;
    await delay(waitMs, undefined, { signal: context.signal }).catch(() => undefined);
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
    const forwarding: Forwarding = {
      url: requireText(given, 'forward'),
      secret: requireVariable(context, 'PAYORDERS_WEBHOOK_SECRET'),
      lost: countOf(given, 'fail', 0),
      delayMs: countOf(given, 'delay', 0),
    };
    const { state, from, once } = given.values;
    const file = stateFileOf(context, typeof state === 'string' ? state : undefined);
    const begins = typeof from === 'string' ? from : new Date().toISOString();
    let after = typeof from === 'string' ? undefined : await readCursor(file);
    let isAccepted = true;
    const { events } = context.client();
    while (!context.signal.aborted) {
      const filter = after === undefined ? { createdFrom: begins } : { after };
      const { content, next } = await events.list({ ...filter, size: PAGE_SIZE }).page();
      for (const event of content) {
        if (context.signal.aborted) return EXIT.done;
        isAccepted = (await forward(context, event, forwarding)) && isAccepted;
      }
      // Only now: after a kill, the events of this page are sent again, and none is left out.
      if (next !== null && next !== after) await writeCursor(file, next);
      const isAtEnd = next === null || next === after;
      after = next ?? after;
      if (!isAtEnd) continue;
      if (once === true) return isAccepted ? EXIT.done : EXIT.failed;
      await delay(IDLE_MS, undefined, { signal: context.signal }).catch(() => undefined);
    }
    return EXIT.done;
  },
};
