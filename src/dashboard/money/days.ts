import { INDIA_OFFSET_MS } from '../../pages/format.ts';

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
export function countDays(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

/** "27 Nov 2026" */
export function dayText(day: string): string {
  return dayFormat.format(new Date(day));
}
