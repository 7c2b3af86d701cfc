/**
 * The identifiers of Indian businesses and bank accounts. Each check returns what is wrong as a
 * plain sentence for the person who typed it, or undefined.
 */

/**
 * The kinds of business that can apply, and the fourth letters that their PAN may have. Source: the
 * Income Tax Department's structure of the PAN.
 */
export const BUSINESS_KINDS = {
  individual: { label: 'Individual', panLetters: 'P' },
  proprietorship: { label: 'Sole proprietorship', panLetters: 'P' },
  company: { label: 'Company', panLetters: 'C' },
  partnership: { label: 'Partnership firm', panLetters: 'F' },
  llp: { label: 'Limited liability partnership', panLetters: 'F' },
  trust: { label: 'Trust', panLetters: 'T' },
  huf: { label: 'Hindu undivided family', panLetters: 'H' },
  association: { label: 'Association of persons or body of individuals', panLetters: 'AB' },
  government: { label: 'Government agency', panLetters: 'G' },
  local_authority: { label: 'Local authority', panLetters: 'L' },
  juridical_person: { label: 'Artificial juridical person', panLetters: 'J' },
} as const satisfies Record<string, { label: string; panLetters: string }>;

export type BusinessKind = keyof typeof BUSINESS_KINDS;

export function isBusinessKind(text: string): text is BusinessKind {
  return Object.hasOwn(BUSINESS_KINDS, text);
}

/** The first digit of Devanagari. The digits of the other Indian scripts follow at distances of 128. */
const DEVANAGARI_ZERO = 0x09_66;

/** Converts the digits of Indian scripts to 0 to 9, and removes invisible characters. */
function plain(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[०-९০-৯੦-੯૦-૯୦-୯௦-௯౦-౯೦-೯൦-൯]/g, (digit) =>
      String(((digit.codePointAt(0) ?? 0) - DEVANAGARI_ZERO) % 128),
    )
    .replaceAll(/\p{Cf}/gu, '');
}

/** Normalises an identifier to the form that is stored: upper case, without blanks and hyphens. */
export function normalizeIdentifier(text: string): string {
  return plain(text)
    .replaceAll(/[\s\p{Pd}]/gu, '')
    .toUpperCase();
}

const PAN = /^[A-Z]{5}[0-9]{4}[A-Z]$/;

/**
 * Checks a PAN against its format and the kind of business. The rule of the check letter at its end is not public,
 * so a mistyped digit cannot be found.
 *
 * @param kind null if it is not known yet; then only the format is checked
 */
export function panViolation(pan: string, kind: BusinessKind | null): string | undefined {
  if (!PAN.test(pan)) {
    return 'The PAN must be five letters, four digits and a letter, such as ABCPE1234F';
  }
  if (kind === null) return undefined;
  const { label, panLetters } = BUSINESS_KINDS[kind];
  const letter = pan.charAt(3);
  if (panLetters.includes(letter)) return undefined;
  const allowed = [...panLetters].join(' or ');
  return `The fourth letter of this PAN is ${letter}; for "${label}" it must be ${allowed}`;
}

const STATE_CODE = /^(0[1-9]|[12][0-9]|3[0-8]|97|99)/;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/**
 * Computes the last character of a GSTIN from the 14 before it: base 36, every second value doubled, the two digits
 * of each product added. Source: the GST Network's check digit, which is Luhn mod 36.
 */
export function gstinCheckDigit(first14: string): string {
  const sum = [...first14].reduce((total, character, index) => {
    const product = ALPHABET.indexOf(character) * (index % 2 === 0 ? 1 : 2);
    return total + Math.floor(product / ALPHABET.length) + (product % ALPHABET.length);
  }, 0);
  return ALPHABET.charAt((ALPHABET.length - (sum % ALPHABET.length)) % ALPHABET.length);
}

/** A tax deduction and collection account number. */
const TAN = /^[A-Z]{4}[0-9]{5}[A-Z]$/;

/**
 * The part after the state code for holders without an Indian tax number: year, country, number, and NR for a
 * non-resident taxable person, OS for a foreign online service, UN or ON for an embassy or a body of the United
 * Nations.
 */
const FOREIGN = /^[0-9]{2}[A-Z]{3}[0-9]{5}(NR|OS|UN|ON)[0-9A-Z]$/;

const isForeign = (gstin: string) => FOREIGN.test(gstin.slice(2));

/**
 * Checks a GSTIN or UIN: state code, tax number, number of the registration, kind and check digit. Source: the
 * formats of the GST Network. The tax number is a PAN. A tax deductor or a government department may have a TAN
 * instead, and a foreigner has none.
 *
 * @param pan the PAN of the business, null if it is not known yet. A GSTIN that contains a PAN must contain this one
 */
export function gstinViolation(gstin: string, pan: string | null): string | undefined {
  if (!/^[0-9A-Z]{15}$/.test(gstin)) {
    return 'The GSTIN must have 15 letters and digits, such as 27AAPFU0939F1ZV';
  }
  if (!STATE_CODE.test(gstin)) {
    return 'The GSTIN must begin with the code of a state: 01 to 38, 97 or 99';
  }
  const isMatched = gstin.charAt(14) === gstinCheckDigit(gstin.slice(0, 14));
  const violation = isForeign(gstin) ? undefined : kindViolation(gstin, isMatched);
  if (violation !== undefined) return violation;
  if (!isMatched) {
    return 'The last character of the GSTIN does not match the others; check it for a typing error';
  }
  const contained = gstin.slice(2, 12);
  if (pan !== null && PAN.test(contained) && contained !== pan) {
    return `The GSTIN contains the PAN ${contained}, which is not the PAN of this business`;
  }
  return undefined;
}

/** Checks the 3rd to 14th characters of an Indian holder's GSTIN. @param isMatched true if its check digit is right */
function kindViolation(gstin: string, isMatched: boolean): string | undefined {
  const number = gstin.slice(2, 12);
  const kind = gstin.charAt(13);
  if (!PAN.test(number) && !TAN.test(number)) {
    return (
      'The 3rd to 12th characters of the GSTIN must be a PAN, or a TAN of a tax deductor; ' +
      'a non-resident or an international body has one such as 9922JPN29001OSU'
    );
  }
  // If the check digit is wrong, a mistyped PAN is more likely than a department's TAN.
  if (TAN.test(number) && kind !== 'D' && !(kind === 'Z' && isMatched)) {
    return 'The 3rd to 12th characters of the GSTIN are not a PAN, and the rest is not that of a TAN';
  }
  if (gstin.charAt(12) === '0' && PAN.test(number)) {
    return 'The 13th character of the GSTIN must be 1 to 9 or a letter';
  }
  return /[1-9A-JZ]/.test(kind)
    ? undefined
    : 'The 14th character of the GSTIN must be Z, 1 to 9 or A to J';
}

/** Checks the code of a bank branch. Source: the Reserve Bank of India's structure of the IFSC. */
export function ifscViolation(ifsc: string): string | undefined {
  return /^[A-Z]{4}0[A-Z0-9]{6}$/.test(ifsc)
    ? undefined
    : 'The IFSC must be four letters, a zero and six letters or digits, such as HDFC0001234';
}

/** Checks a bank account number. Source: Indian banks use 9 to 18 digits, without a check digit. */
export function accountNumberViolation(accountNumber: string): string | undefined {
  return /^[0-9]{9,18}$/.test(accountNumber)
    ? undefined
    : 'The bank account number must have 9 to 18 digits';
}

export function pinCodeViolation(pinCode: string): string | undefined {
  return /^[1-9][0-9]{5}$/.test(pinCode)
    ? undefined
    : 'The PIN code must have six digits and not begin with 0';
}

/** Normalises an Indian phone number to ten digits, without the country code or a leading 0. */
export function normalizePhone(text: string): string {
  return plain(text)
    .replaceAll(/[\s().\p{Pd}]/gu, '')
    .replace(/^((\+|00)?91)?0?(?=[0-9]{10}$)/, '');
}

export function phoneViolation(phone: string): string | undefined {
  return /^[1-9][0-9]{9}$/.test(phone)
    ? undefined
    : 'The phone number must be an Indian one with ten digits, such as 98765 43210';
}
