import { z } from 'zod';
import { daySchema } from '../../ledger/public.ts';
import { INDIA_OFFSET_MS } from '../../pages/format.ts';
import type { FormState } from '../view/typed.ts';

/** The lengths to choose from; the middle one if nothing is chosen. */
export const PRESET_DAYS = [7, 30, 90] as const;
const USUAL_DAYS = 30;
/** More days are no plot any more, and each costs a count of orders. */
const MOST_DAYS = 92;

/** The query of a page that shows some days. */
export const periodQuery = z.object({ from: z.string().optional(), to: z.string().optional() });

/** Some days in India, both ends included, and as many before them. */
export interface Period {
  from: string;
  to: string;
  /** The first day of the period before. */
  beforeFrom: string;
  dayCount: number;
}

function periodOf(from: string, to: string): Period {
  const dayCount = countDays(from, to);
  return { from, to, dayCount, beforeFrom: addDays(from, -dayCount) };
}

/** The latest days, with today. */
export function latestDays(days: number, today = todayInIndia()): Period {
  return periodOf(addDays(today, 1 - days), today);
}

/**
 * Reads the period of a query. The usual one stands in for one that is wrong.
 *
 * @returns also what the form shows
 */
export function readPeriod(
  { from, to }: z.output<typeof periodQuery>,
  today = todayInIndia(),
): { period: Period; state: FormState } {
  const usual = latestDays(USUAL_DAYS, today);
  if (!from && !to) return { period: usual, state: { values: { from: usual.from, to: usual.to } } };
  const last = to || today;
  const first = from || (isDay(last) ? addDays(last, 1 - USUAL_DAYS) : '');
  const typed = { from: first, to: last };
  const violations = violationsOf(typed, today);
  const isValid = Object.keys(violations).length === 0;
  return {
    period: isValid ? periodOf(typed.from, typed.to) : usual,
    state: { values: typed, violations },
  };
}

/** What a field says whose text is no day. */
export const WRONG_DAY = 'must be a day such as 2026-11-22';

const isDay = (text: string) => daySchema.safeParse(text).success;

function violationsOf({ from, to }: { from: string; to: string }, today: string) {
  if (!isDay(to)) return { to: WRONG_DAY };
  if (!isDay(from)) return { from: WRONG_DAY };
  if (to > today) return { to: `must not be after today, ${dayText(today)}` };
  if (from > to) return { from: 'must not be after the last day' };
  if (countDays(from, to) > MOST_DAYS) return { from: `must be at most ${MOST_DAYS} days before` };
  return {};
}

/** Each day of a period, the first one first. */
export function daysOf({ from, dayCount }: Period): string[] {
  return Array.from({ length: dayCount }, (_, index) => addDays(from, index));
}

const DAY_MS = 86_400_000;

const dayFormat = new Intl.DateTimeFormat('en-IN', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
});

const textOf = (ms: number) => new Date(ms).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Today in India, such as 2026-11-27. */
export function todayInIndia(now = new Date()): string {
  return textOf(now.getTime() + INDIA_OFFSET_MS);
}

/** The day some days after another one, or before it. */
export function addDays(day: string, days: number): string {
  return textOf(Date.parse(day) + days * DAY_MS);
}

/** The number of days from one to another, both included. */
function countDays(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

/** "27 Nov 2026" */
export function dayText(day: string): string {
  return dayFormat.format(new Date(day));
}

/** The beginning of a day in India; null if the text is no day, undefined if it is empty. */
export function startOfDay(text: string | undefined): Date | null | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const at = new Date(`${text}T00:00:00+05:30`);
  // No row is older than 1970, and PostgreSQL does not read the year 0.
  return at.getTime() >= 0 ? at : null;
}
