import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BusinessKind } from '../../src/domain/business-identity.ts';
import {
  accountNumberViolation,
  BUSINESS_KINDS,
  gstinViolation,
  ifscViolation,
  isBusinessKind,
  normalizeIdentifier,
  normalizePhone,
  panViolation,
  phoneViolation,
  pinCodeViolation,
} from '../../src/domain/business-identity.ts';

const RUNS = { numRuns: 2_000 };
const DIGITS = '0123456789';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const BOTH = DIGITS + LETTERS;

/** The fourth letters of a PAN, in other words than the domain's table. */
const FOURTH_LETTERS: Record<BusinessKind, string[]> = {
  individual: ['P'],
  proprietorship: ['P'],
  company: ['C'],
  partnership: ['F'],
  llp: ['F'],
  trust: ['T'],
  huf: ['H'],
  association: ['A', 'B'],
  government: ['G'],
  local_authority: ['L'],
  juridical_person: ['J'],
};
const KINDS = Object.keys(FOURTH_LETTERS) as BusinessKind[];
const STATE_CODES = [
  ...Array.from({ length: 38 }, (_, index) => String(index + 1).padStart(2, '0')),
  '97',
  '99',
];

/** Luhn mod 36 as textbooks write it: from the right, over all characters, the sum is 0. */
function isLuhnMod36(text: string): boolean {
  const sum = [...text].toReversed().reduce((total, character, index) => {
    const value = BOTH.indexOf(character);
    const doubled = (value * 2).toString(36);
    const added = [...doubled].reduce((digits, digit) => digits + Number.parseInt(digit, 36), 0);
    return total + (index % 2 === 1 ? added : value);
  }, 0);
  return sum % 36 === 0;
}

const withLuhn = (first14: string) =>
  [...BOTH].map((last) => first14 + last).find(isLuhnMod36) ?? 'none';

const characters = (alphabet: string, length: number) =>
  fc
    .array(fc.constantFrom(...alphabet), { minLength: length, maxLength: length })
    .map((parts) => parts.join(''));

const panOf = (kind: BusinessKind) =>
  fc
    .tuple(
      characters(LETTERS, 3),
      fc.constantFrom(...FOURTH_LETTERS[kind]),
      characters(LETTERS, 1),
      characters(DIGITS, 4),
      characters(LETTERS, 1),
    )
    .map((parts) => parts.join(''));
const business = fc
  .constantFrom(...KINDS)
  .chain((kind) => fc.record({ kind: fc.constant(kind), pan: panOf(kind) }));
const registered = business.chain(({ kind, pan }) =>
  fc
    .tuple(fc.constantFrom(...STATE_CODES), fc.constantFrom(...BOTH.slice(1)))
    .map(([state, entity]) => ({ kind, pan, gstin: withLuhn(`${state}${pan}${entity}Z`) })),
);
const replaceAt = (text: string, index: number, character: string) =>
  text.slice(0, index) + character + text.slice(index + 1);

describe('a PAN', () => {
  test('is accepted when it has the format and fits the kind of business', () => {
    fc.assert(
      fc.property(business, ({ kind, pan }) => panViolation(pan, kind) === undefined),
      RUNS,
    );
  });

  test('of another kind of business is refused with the letter that is expected', () => {
    fc.assert(
      fc.property(business, fc.constantFrom(...LETTERS), ({ kind, pan }, letter) => {
        const violation = panViolation(replaceAt(pan, 3, letter), kind);
        if (FOURTH_LETTERS[kind].includes(letter)) expect(violation).toBeUndefined();
        else
          expect(violation).toBe(
            `The fourth letter of this PAN is ${letter}; for "${BUSINESS_KINDS[kind].label}" ` +
              `it must be ${FOURTH_LETTERS[kind].join(' or ')}`,
          );
      }),
      RUNS,
    );
  });

  test('has only its format checked while the kind of business is not known', () => {
    fc.assert(
      fc.property(business, ({ pan }) => panViolation(pan, null) === undefined),
      RUNS,
    );
    expect(panViolation('ABC', null)).toMatch(/^The PAN must be/);
  });

  test('of any other format is refused', () => {
    const other = fc.string().filter((text) => !/^[A-Z]{5}\d{4}[A-Z]$/.test(text));
    fc.assert(
      fc.property(
        other,
        (text) => panViolation(text, 'company')?.startsWith('The PAN must be') === true,
      ),
      RUNS,
    );
  });

  test.each(['ABCPE1234F\n', ' ABCPE1234F', 'abcpe1234f', 'ABCPE1234', 'ABCPE12345', ''])(
    '%j is no PAN',
    (text) => expect(panViolation(text, 'individual')).toMatch(/^The PAN must be/),
  );
});

describe('a GSTIN', () => {
  // Published numbers of real registrations, not made by this program.
  test.each(['27AAPFU0939F1ZV', '29AAGCB7383J1Z4', '33AAACH7409R1Z8'])('%s is valid', (gstin) =>
    expect(gstinViolation(gstin, gstin.slice(2, 12))).toBeUndefined(),
  );

  test('is accepted when it contains the PAN and its check digit is that of Luhn mod 36', () => {
    fc.assert(
      fc.property(registered, ({ gstin, pan }) => gstinViolation(gstin, pan) === undefined),
      RUNS,
    );
  });

  test('is checked by itself while the PAN is not known', () => {
    fc.assert(
      fc.property(registered, ({ gstin }) => gstinViolation(gstin, null) === undefined),
      RUNS,
    );
    expect(gstinViolation('27AAPFU0939F1ZW', null)).toMatch(/^The last character/);
  });

  test('with one mistyped character is always refused', () => {
    const mistyped = fc.tuple(registered, fc.nat({ max: 14 }), fc.constantFrom(...BOTH));
    fc.assert(
      fc.property(mistyped, ([{ gstin }, index, character]) => {
        const wrong = replaceAt(gstin, index, character);
        fc.pre(wrong !== gstin);
        expect(gstinViolation(wrong, null)).toBeTypeOf('string');
      }),
      RUNS,
    );
  });

  test('with two neighbours exchanged is refused, except 0 and Z, as Luhn mod 36 cannot see them', () => {
    fc.assert(
      fc.property(registered, fc.nat({ max: 13 }), ({ gstin }, index) => {
        const [first = '', second = ''] = gstin.slice(index, index + 2);
        fc.pre(first !== second && ![first, second].every((one) => '0Z'.includes(one)));
        const wrong = gstin.slice(0, index) + second + first + gstin.slice(index + 2);
        expect(gstinViolation(wrong, null)).toBeTypeOf('string');
      }),
      RUNS,
    );
  });

  test('of another business is refused and names the PAN that it contains', () => {
    fc.assert(
      fc.property(registered, business, ({ gstin, pan }, other) => {
        fc.pre(pan !== other.pan);
        expect(gstinViolation(gstin, other.pan)).toBe(
          `The GSTIN contains the PAN ${pan}, which is not the PAN of this business`,
        );
      }),
      RUNS,
    );
  });

  test.each([
    ['27AAPFU0939F1Z', 'The GSTIN must have 15'],
    ['27aapfu0939f1zv', 'The GSTIN must have 15'],
    ['27AAPFU0939F1ZV ', 'The GSTIN must have 15'],
    ['00AAPFU0939F1ZV', 'The GSTIN must begin with the code of a state'],
    ['39AAPFU0939F1ZV', 'The GSTIN must begin with the code of a state'],
    ['98AAPFU0939F1ZV', 'The GSTIN must begin with the code of a state'],
    ['27AAPF10939F1ZV', 'The 3rd to 12th characters'],
    ['27AAPFU0939F0ZV', 'The 13th character'],
    ['27AAPFU0939F1YV', 'The 14th character'],
    ['27AAPFU0939F1ZW', 'The last character'],
  ])('%s is refused: %s…', (gstin, start) => {
    expect(gstinViolation(gstin, 'AAPFU0939F')?.startsWith(start)).toBe(true);
  });

  // Those of tax deductors, tax collectors, foreigners and bodies of the United Nations.
  test.each([
    '27PNEA06819B1DE',
    '9922JPN29001OSU',
    '9917IRL29003OSG',
    '0717UNO00157UNO',
    withLuhn('07AAPFU0939F1C'),
    withLuhn('07AAPFU0939F2D'),
    withLuhn('07DELA06819B0Z'),
    withLuhn('0717JPN00012NR'),
    withLuhn('9717OTH00012ON'),
  ])('%s is valid without the PAN of the business where it contains none', (gstin) => {
    const contained = gstin.slice(2, 12);
    const hasPan = /^[A-Z]{5}\d{4}[A-Z]$/.test(contained);
    expect(gstinViolation(gstin, null)).toBeUndefined();
    expect(gstinViolation(gstin, contained)).toBeUndefined();
    if (hasPan)
      expect(gstinViolation(gstin, 'AAGCB7383J')).toContain(`contains the PAN ${contained}`);
    else expect(gstinViolation(gstin, 'AAGCB7383J')).toBeUndefined();
    for (const last of [...BOTH].filter((character) => character !== gstin.at(-1))) {
      expect(gstinViolation(gstin.slice(0, -1) + last, null)).toBeTypeOf('string');
    }
  });

  test.each([
    [withLuhn('9922JPN29001XX'), 'The 3rd to 12th characters'],
    [withLuhn('3922JPN29001OS'), 'The GSTIN must begin with the code of a state'],
    [withLuhn('27PNEA06819B1C'), 'The 3rd to 12th characters of the GSTIN are not a PAN'],
    ['27PNEA06819B1DF', 'The last character'],
    ['9922JPN29001OSV', 'The last character'],
  ])('%s is refused with a sentence that is true: %s…', (gstin, start) => {
    expect(gstinViolation(gstin, null)?.startsWith(start)).toBe(true);
  });
});

describe('a bank account', () => {
  test('has an IFSC of four letters, a zero and six letters or digits', () => {
    const ifsc = fc
      .tuple(characters(LETTERS, 4), characters(BOTH, 6))
      .map(([bank, branch]) => `${bank}0${branch}`);
    fc.assert(
      fc.property(ifsc, (text) => ifscViolation(text) === undefined),
      RUNS,
    );
    const other = fc.string().filter((text) => !/^[A-Z]{4}0[A-Z0-9]{6}$/.test(text));
    fc.assert(
      fc.property(other, (text) => typeof ifscViolation(text) === 'string'),
      RUNS,
    );
  });

  test.each(['HDFC1001234', 'HDFC000123', 'HDFC00012345', 'HDF00001234', 'hdfc0001234', ''])(
    '%j is no IFSC',
    (text) => expect(ifscViolation(text)).toMatch(/^The IFSC must be/),
  );

  test('has a number of 9 to 18 digits, and of nothing else', () => {
    fc.assert(
      fc.property(fc.nat({ max: 25 }), fc.constantFrom(...DIGITS), (length, digit) => {
        const isAccepted = accountNumberViolation(digit.repeat(length)) === undefined;
        return isAccepted === (length >= 9 && length <= 18);
      }),
      RUNS,
    );
    const other = fc.string().filter((text) => !/^\d{9,18}$/.test(text));
    fc.assert(
      fc.property(other, (text) => typeof accountNumberViolation(text) === 'string'),
      RUNS,
    );
    // Digits of other scripts are no digits of a bank.
    expect(accountNumberViolation('१२३४५६७८९०')).toBeTypeOf('string');
  });
});

describe('what is typed', () => {
  test('may have blanks, hyphens and lower case', () => {
    expect(normalizeIdentifier(' abcpe 1234-f\t')).toBe('ABCPE1234F');
    fc.assert(
      fc.property(fc.string(), (text) => {
        const once = normalizeIdentifier(text);
        expect(normalizeIdentifier(once)).toBe(once);
      }),
      RUNS,
    );
  });

  test.each([
    ['abc\u200Bpe 1234–f\u200E', 'ABCPE1234F'],
    ['ＨＤＦＣ०००१२३४', 'HDFC0001234'],
    ['৫০১০০ ௧௨௩௪ ൫੬૭୮೯', '50100123456789'],
  ])('%j may come from a phone or another keyboard', (typed, stored) =>
    expect(normalizeIdentifier(typed)).toBe(stored),
  );

  test.each([
    '9876543210',
    '98765 43210',
    '+91 98765-43210',
    '09876543210',
    '0091 9876543210',
    '91 98765 43210',
    '+91 (0)98765 43210',
    '98765.43210',
    '+91‑98765‑43210',
    '९८७६५ ४३२१०',
  ])('%s is a phone number', (text) => {
    expect(normalizePhone(text)).toBe('9876543210');
    expect(phoneViolation(normalizePhone(text))).toBeUndefined();
  });

  test.each(['987654321', '+1 98765 43210', '98765432101', '0123456789', 'phone', ''])(
    '%j is no Indian phone number',
    (text) => expect(phoneViolation(normalizePhone(text))).toMatch(/^The phone number must/),
  );

  test.each([
    ['560034', true],
    ['060034', false],
    ['56003', false],
    ['5600345', false],
    ['56003A', false],
  ])('%s is a PIN code: %s', (text, isValid) =>
    expect(pinCodeViolation(text) === undefined).toBe(isValid),
  );

  test.each(['company', 'toString', '__proto__', 'Company', ''])(
    'only the names of the table are kinds of business: %s',
    (text) => expect(isBusinessKind(text)).toBe(text === 'company'),
  );
});
