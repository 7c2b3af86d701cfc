import { rupeesFromPaise } from '../domain/index.ts';

const rupees = new Intl.NumberFormat('en-IN', { style: 'currency', currency: 'INR' });

/** UPI is India's, so its buyers' clock is too; a phone's own zone is not known to the server. */
const indianTime = new Intl.DateTimeFormat('en-IN', {
  timeZone: 'Asia/Kolkata',
  day: 'numeric',
  month: 'short',
  hour: 'numeric',
  minute: '2-digit',
  hour12: true,
});

/** ₹1,00,000.00, grouped as in India. */
export function rupeesText(amountPaise: number): string {
  return rupees.format(rupeesFromPaise(amountPaise));
}

/** "21 Nov, 3:42 pm IST" */
export function timeText(at: Date): string {
  return `${indianTime.format(at)}\u00A0IST`;
}

/** "14:05", as a watch counts down; never below "0:00". */
export function timeLeftText(leftSeconds: number): string {
  const whole = Math.max(0, Math.floor(leftSeconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** The first so many characters of a text, with a sign that there are more. */
export function shorten(text: string, maxCharacters: number): string {
  const characters = [...text];
  if (characters.length <= maxCharacters) return text;
  return `${characters.slice(0, maxCharacters).join('').trimEnd()}…`;
}
