import { randomInt } from 'node:crypto';
import type { Marks } from '../load/order.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const BASE36 = `0123456789${LETTERS}`;
const MARK = 'cnry';

const random = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** Canary values by what they identify themselves with: letters and digits, in lower case. */
export interface Canaries {
  /** A word that occurs nowhere else. @param place where the value is put, for the report */
  word(place: string): string;
  email(place: string): string;
  /** A mobile number of India, in the form of E.164. */
  phone(place: string): string;
  /** A permanent account number of a company. */
  pan(place: string): string;
  digits(place: string, length: number): string;
  /** A secret that the service has made. */
  add(place: string, secret: string): void;
  placeOf(core: string): string | undefined;
  /** The number of values by place. */
  counts(): ReadonlyMap<string, number>;
}

/** Creates a set of canary values, none of which is made twice. */
export function createCanaries(): Canaries {
  const places = new Map<string, string>();
  function made(place: string, value: string, core = value): string {
    places.set(core.toLowerCase(), place);
    return value;
  }
  const word = (place: string) => made(place, MARK + random(BASE36, 14));
  return {
    word,
    email: (place) => `${word(place)}@example.com`,
    phone(place) {
      const number = `9${random('0123456789', 9)}`;
      return made(place, `+91${number}`, number);
    },
    // The fourth letter says what the holder is: C, a company.
    pan: (place) =>
      made(
        place,
        `${random(LETTERS, 3)}c${random(LETTERS, 1)}${random('0123456789', 4)}${random(LETTERS, 1)}`.toUpperCase(),
      ),
    digits: (place, length) => made(place, `7${random('0123456789', length - 1)}`),
    add: (place, secret) => void made(place, secret, coreOf(secret)),
    placeOf: (core) => places.get(core),
    counts() {
      const counts = new Map<string, number>();
      for (const place of places.values()) counts.set(place, (counts.get(place) ?? 0) + 1);
      return counts;
    },
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
