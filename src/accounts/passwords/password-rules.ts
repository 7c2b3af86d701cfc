import { COMMON_PASSWORDS } from './common-passwords.ts';
import { COMMON_WORDS, SEQUENCES } from './common-words.ts';

/**
 * OWASP ASVS 5.0 requires 8 and recommends 15. 12 keeps merchants from writing it down: attempts are
 * slowed down, the hashes are slow, common passwords are refused, and operators need a second factor.
 */
export const MIN_PASSWORD_LENGTH = 12;
/** No passphrase is longer; the length limits the work of a hash. */
export const MAX_PASSWORD_LENGTH = 128;

/** A password must have this many characters besides those that are easy to guess. ASVS requires 8. */
const MIN_UNGUESSABLE = 8;
/** A shorter run, such as "ab" or "12", also occurs in good passwords. */
const MIN_SEQUENCE = 3;
/** A shorter word of a name also occurs in other words. */
const MIN_NAME_PART = 3;

const LETTER_OF: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};

/** Replaces digits and signs that stand for letters: p@ssw0rd becomes password. */
const withLetters = (text: string) =>
  text.replaceAll(/[013457@$!]/g, (sign) => LETTER_OF[sign] ?? sign);

/**
 * Normalising a text takes a time that grows with the square of the number of its combining marks: 0.2 s for the 32
 * KiB of a form. No password of 128 characters is longer than this in any Unicode form.
 */
export const isTooLongToNormalise = (text: string) => text.length > 8 * MAX_PASSWORD_LENGTH;

/** Longer names are ignored: their words do not fit in a password. */
const MAX_NAME_LENGTH = 254;

const plain = (text: string) => text.normalize('NFKC').toLowerCase();

/** The words of an e-mail address or a name, in lower case. */
const wordsOf = (text: string) =>
  plain(text.slice(0, MAX_NAME_LENGTH))
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= MIN_NAME_PART);

/** The length of the longest part of a sequence at the beginning of a text; 0 if it is too short. */
function sequenceLength(text: string): number {
  let length = MIN_SEQUENCE;
  const isSequence = () =>
    length <= text.length && SEQUENCES.some((one) => one.includes(text.slice(0, length)));
  if (!isSequence()) return 0;
  while (isSequence()) length += 1;
  return length - 1;
}

/** Removes parts of sequences, such as 12345 or qwert. */
function withoutSequences(text: string): string {
  let rest = '';
  for (let at = 0; at < text.length;) {
    const length = sequenceLength(text.slice(at));
    if (length === 0) rest += text[at];
    at += Math.max(length, 1);
  }
  return rest;
}

/**
 * Counts the characters that are left without words, years, sequences and repetitions.
 *
 * @param words common passwords and words in lower case, the longest first
 */
function countUnguessable(text: string, words: readonly string[]): number {
  let rest = text;
  for (const word of words) rest = rest.replaceAll(word, ' ');
  rest = withoutSequences(rest)
    .replaceAll(/(19|20)\d\d/g, ' ')
    .replaceAll(/(.{1,16}?)\1+/gsu, '$1')
    .replaceAll(/\s/g, '');
  return [...rest].length;
}

/**
 * Checks a new password: its length and whether it is easy to guess. Any characters are allowed, and none are
 * required. Source: OWASP ASVS 5.0, 6.2.
 *
 * @param names names of the account that a password must not be built from: its e-mail address, the business
 * @returns why it is refused; undefined if it is not
 */
export function refusalOfPassword(password: string, names: readonly string[]): string | undefined {
  const { length } = isTooLongToNormalise(password) ? password : [...password.normalize('NFC')];
  if (length < MIN_PASSWORD_LENGTH) {
    return `The password must have at least ${MIN_PASSWORD_LENGTH} characters`;
  }
  if (length > MAX_PASSWORD_LENGTH) {
    return `The password must have at most ${MAX_PASSWORD_LENGTH} characters`;
  }
  const words = [...COMMON_PASSWORDS, ...COMMON_WORDS, ...names.flatMap(wordsOf)].toSorted(
    (a, b) => b.length - a.length,
  );
  const lower = plain(password);
  const unguessable = Math.min(
    countUnguessable(lower, words),
    countUnguessable(withLetters(lower), words),
  );
  if (unguessable >= MIN_UNGUESSABLE) return undefined;
  return `The password is easy to guess: without common words, names and sequences such as 12345, at least ${MIN_UNGUESSABLE} characters must be left`;
}
