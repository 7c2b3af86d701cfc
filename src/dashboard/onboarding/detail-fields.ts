import { BUSINESS_KINDS } from '../../domain/index.ts';
import type { Application } from '../../onboarding/public.ts';
import { REGIONS } from '../../onboarding/public.ts';
import type { FormState } from '../view/fields.ts';
import { choice, textField } from '../view/fields.ts';

const REGION_CHOICES = Object.fromEntries(REGIONS.map((region) => [region, region]));
const KIND_CHOICES = Object.fromEntries(
  Object.entries(BUSINESS_KINDS).map(([kind, { label }]) => [kind, label]),
);

/** A field that a draft may leave blank, and that the submission needs. */
const later = { neededLater: true } as const;

/** The fields of the business step. */
export function businessFields(state: FormState) {
  return [
    textField(
      { ...later, name: 'legalName', label: 'Legal name', autocomplete: 'organization' },
      state,
    ),
    choice(
      {
        ...later,
        name: 'businessKind',
        label: 'Kind of business',
        choices: KIND_CHOICES,
        placeholder: 'Choose',
      },
      state,
    ),
    textField(
      { ...later, name: 'pan', label: 'PAN', hint: 'Ten characters, such as ABCPE1234F.' },
      state,
    ),
    textField(
      {
        name: 'gstin',
        label: 'GSTIN',
        hint: 'Fifteen characters. Leave it blank if your business is not registered for GST.',
      },
      state,
    ),
    textField(
      { ...later, name: 'phone', label: 'Phone number', type: 'tel', autocomplete: 'tel' },
      state,
    ),
    ...addressFields(state),
  ];
}

function addressFields(state: FormState) {
  return [
    textField(
      {
        ...later,
        name: 'street',
        label: 'Registered address',
        autocomplete: 'street-address',
      },
      state,
    ),
    textField({ ...later, name: 'city', label: 'City', autocomplete: 'address-level2' }, state),
    choice(
      { ...later, name: 'region', label: 'State', choices: REGION_CHOICES, placeholder: 'Choose' },
      state,
    ),
    textField(
      {
        ...later,
        name: 'pinCode',
        label: 'PIN code',
        inputMode: 'numeric',
        autocomplete: 'postal-code',
      },
      state,
    ),
  ];
}

/** The fields of the bank step. */
export function bankFields({ bank: { accountLastFour } }: Application, state: FormState) {
  const hint =
    accountLastFour === null
      ? '9 to 18 digits.'
      : `The stored one ends in ${accountLastFour}. Leave both fields blank to keep it.`;
  const number = { ...later, inputMode: 'numeric', autocomplete: 'off' } as const;
  return [
    textField({ ...later, name: 'accountHolder', label: "Account holder's name" }, state),
    textField({ ...number, name: 'accountNumber', label: 'Bank account number', hint }, state),
    textField(
      {
        ...number,
        name: 'accountNumberAgain',
        label: 'Bank account number again',
        hint: 'Account numbers have no check digit: typing it twice finds mistakes.',
      },
      state,
    ),
    textField(
      { ...later, name: 'ifsc', label: 'IFSC', hint: 'Eleven characters, such as HDFC0001234.' },
      state,
    ),
  ];
}
