import type { CallbackEvent } from './book.ts';
import { newId } from './random.ts';
import type { Random } from './random.ts';

/** What goes wrong on the way; drawn for each event from the seeded generator. */
export interface CallbackSettings {
  dropProbability: number;
  duplicateProbability: number;
  delayMs: { min: number; max: number };
  /** Nothing is sent until it is released, in whatever order. */
  hold: boolean;
}

/** Everything arrives, once, at once. */
export const UNDISTURBED: Readonly<CallbackSettings> = {
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
export function planCallback(
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
