import { rupeesFromPaise } from '../domain/index.ts';
import type { Language } from './language.ts';

const rupees = new Intl.NumberFormat('en-IN', { style: 'currency', currency: 'INR' });

/** Indian time: UPI buyers are in India, and the server does not know a phone's time zone. */
const indianTimeIn = (locale: string) =>
  new Intl.DateTimeFormat(locale, {
    timeZone: 'Asia/Kolkata',
    day: 'numeric',
    month: 'short',
    hour: 'numeric',
    minute: '2-digit',
    hour12: true,
  });

const INDIAN_TIMES: Record<Language, Intl.DateTimeFormat> = {
  en: indianTimeIn('en-IN'),
  hi: indianTimeIn('hi-IN'),
};

/** India is five and a half hours ahead of UTC all year. */
export const INDIA_OFFSET_MS = 5.5 * 3_600_000;

/** ₹1,00,000.00, with Indian grouping and a true minus sign. */
export function rupeesText(amountPaise: number): string {
  return rupees.format(rupeesFromPaise(amountPaise)).replace('-', '−');
}

const numbers = new Intl.NumberFormat('en-IN');

/** 1,00,000 */
export const numberText = (count: number): string => numbers.format(count);

/** "1 order", "1,00,000 orders". @param name the singular */
export const countText = (count: number, name: string): string =>
  `${numberText(count)} ${count === 1 ? name : `${name}s`}`;

/** "21 Nov, 3:42 pm IST", or "21 नव॰, 3:42 pm IST"; a line ends only before the hour. */
export function timeText(at: Date, language: Language = 'en'): string {
  const text = INDIAN_TIMES[language].format(at);
  const hourAt = text.lastIndexOf(' ');
  return `${text.slice(0, hourAt)}\u00A0${text.slice(hourAt + 1)}\u00A0IST`;
}

const INDIAN_DAY_AND_TIME = indianTimeIn('en-IN');
const INDIAN_YEAR = new Intl.DateTimeFormat('en-IN', { timeZone: 'Asia/Kolkata', year: 'numeric' });
const WHOLE_INDIAN_TIME = new Intl.DateTimeFormat('en-IN', {
  timeZone: 'Asia/Kolkata',
  dateStyle: 'full',
  timeStyle: 'medium',
});

/** "21 Nov, 3:42 pm". The year is added if it is not that of `now`: "21 Nov 2025, 3:42 pm". */
export function shortTimeText(at: Date, now: Date): string {
  const [year, text] = [INDIAN_YEAR.format(at), INDIAN_DAY_AND_TIME.format(at)];
  return year === INDIAN_YEAR.format(now) ? text : text.replace(',', ` ${year},`);
}

/** "Saturday 21 November 2026 at 3:42:05 pm IST" */
export function wholeTimeText(at: Date): string {
  return `${WHOLE_INDIAN_TIME.format(at)}\u00A0IST`;
}

/** "2026-11-22 15:30:00" in Indian time, which spreadsheets can read. "" for null. */
export function tableTimeText(at: Date | null): string {
  if (at === null) return '';
  return new Date(at.getTime() + INDIA_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

const RELATIVE = new Intl.RelativeTimeFormat('en-IN', { numeric: 'auto' });
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** "in 5 hours", "3 minutes ago", "now". */
export function relativeText(at: Date, now: Date): string {
  const leftMs = at.getTime() - now.getTime();
  const unit = UNITS.find(([, lengthMs]) => Math.abs(leftMs) >= lengthMs);
  return unit ? RELATIVE.format(Math.round(leftMs / unit[1]), unit[0]) : 'now';
}

/** Remaining minutes and seconds, such as "14:05"; never below "0:00". */
export function timeLeftText(leftSeconds: number): string {
  const whole = Math.max(0, Math.floor(leftSeconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/**
 * The first `maxCharacters` characters (code points) of a text, with an ellipsis if it is longer.
 */
export function shorten(text: string, maxCharacters: number): string {
  const characters = [...text];
  if (characters.length <= maxCharacters) return text;
  return `${characters.slice(0, maxCharacters).join('').trimEnd()}…`;
}
