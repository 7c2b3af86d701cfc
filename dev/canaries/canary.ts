import { randomInt } from 'node:crypto';
import type { Marks } from '../load/order.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const BASE36 = DIGITS + LETTERS;
const MARK = 'cnry';

const random = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** See {@link createCanaries}. */
export type Canaries = ReturnType<typeof createCanaries>;

/**
 * Creates a set of canary values, none of which is made twice. They are kept by what they identify themselves with:
 * letters and digits, in lower case.
 */
export function createCanaries() {
  const places = new Map<string, string>();
  function made(place: string, value: string, core = value): string {
    places.set(core.toLowerCase(), place);
    return value;
  }
  /** A word that occurs nowhere else. @param place where the value is put, for the report */
  const word = (place: string) => made(place, MARK + random(BASE36, 14));
  return {
    word,
    email: (place: string) => `${word(place)}@example.com`,
    /** A mobile number of India, in the form of E.164. */
    phone(place: string) {
      const number = `9${random(DIGITS, 9)}`;
      return made(place, `+91${number}`, number);
    },
    /** A permanent account number. The fourth letter says what the holder is: C, a company. */
    pan: (place: string) =>
      made(
        place,
        `${random(LETTERS, 3)}C${random(LETTERS, 1)}${random(DIGITS, 4)}${random(LETTERS, 1)}`.toUpperCase(),
      ),
    digits: (place: string, length: number) => made(place, `7${random(DIGITS, length - 1)}`),
    /** A secret that the service has made. */
    add: (place: string, secret: string) => void made(place, secret, coreOf(secret)),
    placeOf: (core: string) => places.get(core),
    size: () => places.size,
  };
}

/** Marks the texts of orders, and every header that a client may choose. */
export const marksOf = (canaries: Canaries): Marks => ({
  text(place, usual) {
    switch (place) {
      case 'buyerEmail':
        return canaries.email(place);
      case 'buyerPhone':
        return canaries.phone(place);
      case 'UPI address':
        return `${canaries.word(place)}@upi`;
      case 'Idempotency-Key':
        return canaries.word(place);
      default:
        return `${usual}: ${canaries.word(place)} & "more"`;
    }
  },
  headers: () => ({
    'User-Agent': canaries.word('User-Agent header'),
    'X-Customer': canaries.word('unknown header'),
    baggage: `buyer=${canaries.word('baggage header')}`,
    tracestate: `shop=${canaries.word('tracestate header')}`,
  }),
});

/** The longest part of a secret between its separators. */
function coreOf(secret: string): string {
  const parts = secret.split(/[^A-Za-z0-9]/);
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), '');
}

const RUN = /[a-z0-9]{10,}/g;
/** What a value looks like inside of a longer run: a marked word, a number with its country code, a PAN. */
const PARTS = [
  /cnry[a-z0-9]{14}/g,
  /\d{10,}/g,
  /(?<=^91|[a-z]91)9\d{9}(?!\d)/g,
  /[a-z]{5}\d{4}[a-z]/g,
];

/** The canaries in a text, as it is: `search.ts` decodes what is encoded. */
export function canariesIn(text: string, { placeOf }: Canaries): string[] {
  const found = new Set<string>();
  for (const [run] of text.toLowerCase().matchAll(RUN)) {
    for (const candidate of [run, ...PARTS.flatMap((part) => run.match(part) ?? [])]) {
      if (placeOf(candidate) !== undefined) found.add(candidate);
    }
  }
  return [...found];
}
