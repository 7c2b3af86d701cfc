import {
  accountNumberViolation,
  gstinViolation,
  ifscViolation,
  isBusinessKind,
  normalizeIdentifier,
  normalizePhone,
  panViolation,
  phoneViolation,
  pinCodeViolation,
} from '../domain/business-identity.ts';
import { ValidationError } from '../http/responses/errors.ts';
import type { BusinessDetails } from './application.ts';

/** The states and union territories of India, for the registered address. */
export const REGIONS = [
  'Andaman and Nicobar Islands',
  'Andhra Pradesh',
  'Arunachal Pradesh',
  'Assam',
  'Bihar',
  'Chandigarh',
  'Chhattisgarh',
  'Dadra and Nagar Haveli and Daman and Diu',
  'Delhi',
  'Goa',
  'Gujarat',
  'Haryana',
  'Himachal Pradesh',
  'Jammu and Kashmir',
  'Jharkhand',
  'Karnataka',
  'Kerala',
  'Ladakh',
  'Lakshadweep',
  'Madhya Pradesh',
  'Maharashtra',
  'Manipur',
  'Meghalaya',
  'Mizoram',
  'Nagaland',
  'Odisha',
  'Puducherry',
  'Punjab',
  'Rajasthan',
  'Sikkim',
  'Tamil Nadu',
  'Telangana',
  'Tripura',
  'Uttar Pradesh',
  'Uttarakhand',
  'West Bengal',
] as const;

/** The texts of the business form as they were typed; a field that is left out is blank. */
export type BusinessForm = Readonly<Partial<Record<keyof BusinessDetails, string>>>;

/** The texts of the bank form as they were typed. */
export interface BankForm {
  accountHolder?: string | undefined;
  /** Blank keeps the number that is stored. */
  accountNumber?: string | undefined;
  /** Typed a second time, because an account number has no check digit. */
  accountNumberAgain?: string | undefined;
  ifsc?: string | undefined;
}

/** The bank account with its number, before it is sealed; a null number keeps the stored one. */
export interface BankInput {
  accountHolder: string | null;
  accountNumber: string | null;
  ifsc: string | null;
}

/** The longest texts that a gateway's linked account takes. */
const NAME_LENGTH = 200;
const ADDRESS_LENGTH = 100;

/** Reads fields of a form and collects what is wrong with them. */
function createFieldReader() {
  const violations: Record<string, string> = {};
  return {
    violations,
    /** @returns null if the field is blank or wrong */
    read<Value extends string>(
      name: string,
      value: Value,
      violationOf: (value: Value) => string | undefined,
    ): Value | null {
      if (value === '') return null;
      const violation = violationOf(value);
      if (violation === undefined) return value;
      violations[name] = violation;
      return null;
    },
    assertNone() {
      if (Object.keys(violations).length > 0) throw new ValidationError(violations);
    },
  };
}

/** A text as one line without blanks around it. */
const lineOf = (text = '') => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();

const atMost = (length: number, what: string) => (text: string) =>
  [...text].length <= length ? undefined : `${what} must have at most ${length} characters`;

/**
 * Reads the business form. A draft may leave fields blank; what is given must be right.
 *
 * @throws ValidationError with one sentence for each field that is wrong
 */
export function readBusinessForm(form: BusinessForm): BusinessDetails {
  const { read, assertNone } = createFieldReader();
  const named = read('businessKind', form.businessKind ?? '', (text) =>
    isBusinessKind(text) ? undefined : 'Choose the kind of business from the list',
  );
  const businessKind = named !== null && isBusinessKind(named) ? named : null;
  const pan = read('pan', normalizeIdentifier(form.pan ?? ''), (text) =>
    panViolation(text, businessKind),
  );
  const details = {
    legalName: read('legalName', lineOf(form.legalName), atMost(NAME_LENGTH, 'The legal name')),
    businessKind,
    pan,
    gstin: read('gstin', normalizeIdentifier(form.gstin ?? ''), (text) =>
      gstinViolation(text, pan),
    ),
    phone: read('phone', normalizePhone(form.phone ?? ''), phoneViolation),
    street: read('street', lineOf(form.street), atMost(ADDRESS_LENGTH, 'The address')),
    city: read('city', lineOf(form.city), atMost(ADDRESS_LENGTH, 'The city')),
    region: read('region', form.region ?? '', (text) =>
      (REGIONS as readonly string[]).includes(text) ? undefined : 'Choose the state from the list',
    ),
    pinCode: read('pinCode', normalizeIdentifier(form.pinCode ?? ''), pinCodeViolation),
  };
  assertNone();
  return details;
}

/**
 * Reads the bank form. A draft may leave fields blank; what is given must be right.
 *
 * @throws ValidationError with one sentence for each field that is wrong
 */
export function readBankForm(form: BankForm): BankInput {
  const { read, assertNone } = createFieldReader();
  const typed = normalizeIdentifier(form.accountNumber ?? '');
  const accountNumber = read('accountNumber', typed, accountNumberViolation);
  const again = normalizeIdentifier(form.accountNumberAgain ?? '');
  if (accountNumber !== null || typed === '') {
    read('accountNumberAgain', again === typed ? '' : 'different', () => NOT_THE_SAME);
  }
  const accountHolder = read(
    'accountHolder',
    lineOf(form.accountHolder),
    atMost(NAME_LENGTH, "The account holder's name"),
  );
  const ifsc = read('ifsc', normalizeIdentifier(form.ifsc ?? ''), ifscViolation);
  assertNone();
  return { accountHolder, accountNumber, ifsc };
}

const NOT_THE_SAME = 'The two bank account numbers differ';
