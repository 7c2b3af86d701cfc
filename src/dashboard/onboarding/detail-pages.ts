import { z } from 'zod';
import { BUSINESS_KINDS } from '../../domain/business-identity.ts';
import type { Application } from '../../onboarding/public.ts';
import {
  mayEdit,
  readApplication,
  REGIONS,
  saveBank,
  saveBusiness,
} from '../../onboarding/public.ts';
import { noticed } from '../context.ts';
import { choice, refused, submit, textField } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { section } from '../view/parts.ts';
import { form } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import type { ShownStep } from './parts.ts';
import { applicationSteps, onboardingPage, stepPath } from './parts.ts';

type DetailField = Parameters<typeof textField>[0] & { choices?: Readonly<Record<string, string>> };

interface DetailStep {
  step: 'business' | 'bank';
  next: ShownStep;
  title: string;
  lead: string;
  fields: readonly DetailField[];
  /** Hints that depend on what is stored, by the names of their fields. */
  hintsOf?: (application: Application) => Readonly<Record<string, string>>;
  valuesOf(application: Application): Record<string, string | null>;
  save: typeof saveBusiness | typeof saveBank;
}

/** A field that a draft may leave blank, and that the submission needs. */
const later = { neededLater: true } as const;

const BUSINESS_FIELDS: readonly DetailField[] = [
  { ...later, name: 'legalName', label: 'Legal name', autocomplete: 'organization' },
  {
    ...later,
    name: 'businessKind',
    label: 'Kind of business',
    choices: Object.fromEntries(
      Object.entries(BUSINESS_KINDS).map(([kind, { label }]) => [kind, label]),
    ),
  },
  { ...later, name: 'pan', label: 'PAN', hint: 'Ten characters, such as ABCPE1234F.' },
  {
    name: 'gstin',
    label: 'GSTIN',
    hint: 'Fifteen characters. Leave it blank if your business is not registered for GST.',
  },
  { ...later, name: 'phone', label: 'Phone number', type: 'tel', autocomplete: 'tel' },
  { ...later, name: 'street', label: 'Registered address', autocomplete: 'street-address' },
  { ...later, name: 'city', label: 'City', autocomplete: 'address-level2' },
  {
    ...later,
    name: 'region',
    label: 'State',
    choices: Object.fromEntries(REGIONS.map((region) => [region, region])),
  },
  {
    ...later,
    name: 'pinCode',
    label: 'PIN code',
    inputMode: 'numeric',
    autocomplete: 'postal-code',
  },
];

const number = { ...later, inputMode: 'numeric', autocomplete: 'off' } as const;

const BANK_FIELDS: readonly DetailField[] = [
  { ...later, name: 'accountHolder', label: "Account holder's name" },
  { ...number, name: 'accountNumber', label: 'Bank account number', hint: '9 to 18 digits.' },
  {
    ...number,
    name: 'accountNumberAgain',
    label: 'Bank account number again',
    hint: 'Account numbers have no check digit: typing it twice finds mistakes.',
  },
  { ...later, name: 'ifsc', label: 'IFSC', hint: 'Eleven characters, such as HDFC0001234.' },
];

const BUSINESS: DetailStep = {
  step: 'business',
  next: 'bank',
  title: 'Your business',
  lead: 'As it is registered. You can save what you have and continue later.',
  fields: BUSINESS_FIELDS,
  valuesOf: ({ business }) => ({ ...business }),
  save: saveBusiness,
};

const BANK: DetailStep = {
  step: 'bank',
  next: 'documents',
  title: 'Your bank account',
  lead: 'Where the money of your orders is paid out. The number is stored encrypted.',
  fields: BANK_FIELDS,
  hintsOf: ({ bank: { accountLastFour } }) =>
    accountLastFour === null
      ? {}
      : {
          accountNumber: `The stored one ends in ${accountLastFour}. Leave both fields blank to keep it.`,
        },
  valuesOf: ({ bank: { accountHolder, ifsc } }) => ({ accountHolder, ifsc }),
  save: saveBank,
};

/** The pages of the steps with typed text: business and bank account. */
export const detailPages = [BUSINESS, BANK].flatMap((step) => [
  onboardingPage(`GET /onboarding/${step.step}`, {
    asksFirst: true,
  }).handledBy(async ({ viewer }, { sql }) => {
    const application = await readApplication(sql, viewer.merchantId);
    if (!mayEdit(application.state)) return { seeOther: stepPath(viewer, 'review') };
    return { view: stepView(viewer, application, step) };
  }),
  onboardingPage(`POST /onboarding/${step.step}`, {
    body: z.object(
      Object.fromEntries(step.fields.map(({ name }) => [name, z.string().default('')])),
    ),
  }).handledBy(async (request, deps) => {
    const { viewer, actor, body: values } = request;
    await noticed(deps, request, { kind: 'application.bank' }, (alongside) =>
      step.save({ ...deps, actor, alongside }, viewer.merchantId, values),
    );
    return { seeOther: stepPath(viewer, step.next) };
  }),
]);

function stepView(
  viewer: MerchantViewer,
  application: Application,
  { step, title, lead, fields, hintsOf, valuesOf }: DetailStep,
): View {
  const hints = hintsOf?.(application) ?? {};
  const stored = valuesOf(application);
  return {
    title,
    content: [
      applicationSteps(viewer, application, step),
      refused({ atFields: 'This was not saved. See what is wrong at each field.' }),
      section(
        'form',
        lead,
        form(
          stepPath(viewer, step),
          { 'aria-label': title },
          ...fields.map(({ choices, ...given }) => {
            const field = { ...given, value: stored[given.name] };
            return choices
              ? choice({ ...field, choices, placeholder: 'Choose' })
              : textField({ ...field, hint: hints[field.name] ?? field.hint });
          }),
          submit('Save and continue'),
        ),
      ),
    ],
  };
}
