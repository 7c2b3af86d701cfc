import type { BusinessKind } from '../domain/business-identity.ts';
import {
  gstinViolation,
  ifscViolation,
  panViolation,
  phoneViolation,
  pinCodeViolation,
} from '../domain/business-identity.ts';
import { DomainError } from '../domain/index.ts';
import type { MerchantRow, MerchantStatus, Readiness } from '../merchants/public.ts';

/**
 * What a merchant must do next, or waits for. `not_ready`: approved, but it cannot take payments in
 * production yet.
 */
export type ApplicationState =
  | 'draft'
  | 'under_review'
  | 'not_ready'
  | 'approved'
  | 'rejected'
  | 'suspended';

/** What a document proves. */
export const DOCUMENT_KINDS = {
  identity: {
    label: 'Proof of identity',
    examples: 'Passport, driving licence, voter card or Aadhaar of the owner or signatory',
  },
  business: {
    label: 'Proof of the business',
    examples:
      'Certificate of incorporation or registration, GST certificate, partnership or trust deed',
  },
  bank: {
    label: 'Proof of the bank account',
    examples:
      'Cancelled cheque, first page of the passbook or a statement of the last three months',
  },
} as const satisfies Record<string, { label: string; examples: string }>;
/** One of {@link DOCUMENT_KINDS}. */
export type DocumentKind = keyof typeof DOCUMENT_KINDS;

/** The business as the merchant has entered it so far. A linked account at the gateway needs it. */
export interface BusinessDetails {
  legalName: string | null;
  businessKind: BusinessKind | null;
  pan: string | null;
  /** Businesses below the threshold have none. */
  gstin: string | null;
  phone: string | null;
  street: string | null;
  city: string | null;
  /** The state or union territory. */
  region: string | null;
  pinCode: string | null;
}

/** The bank account without its number. */
export interface BankDetails {
  accountHolder: string | null;
  accountLastFour: string | null;
  /** When the number was entered. */
  accountNumberAt: Date | null;
  ifsc: string | null;
}

/** A document without its content. */
export interface DocumentFacts {
  documentId: string;
  kind: DocumentKind;
  fileName: string;
  mediaType: string;
  sizeBytes: number;
  /** Of the content, in hexadecimal. */
  sha256: string;
  uploadedAt: Date;
}

/** What a merchant has submitted: its application without the number of the bank account. */
export interface Submitted {
  business: BusinessDetails;
  /** `accountNumberAt` in ISO-8601: the row has it as JSON. */
  bank: Omit<BankDetails, 'accountNumberAt'> & { accountNumberAt: string | null };
  documents: readonly Pick<DocumentFacts, 'documentId' | 'kind' | 'fileName'>[];
}

/** A merchant's application with its state. */
export interface Application {
  merchantId: string;
  status: MerchantStatus;
  state: ApplicationState;
  readiness: Readiness;
  /** Why it was rejected or suspended. */
  statusReason: string | null;
  /** How often it was submitted. */
  submissions: number;
  submittedAt: Date | null;
  edits: number;
  business: BusinessDetails;
  bank: BankDetails;
  /** Oldest first. */
  documents: readonly DocumentFacts[];
  /** What was last submitted, and what was submitted before that; null if it was not kept. */
  submitted: Submitted | null;
  submittedBefore: Submitted | null;
}

/** The state of an application, from its merchant's row. */
export function stateOf({
  status,
  submissions,
  isReady,
}: Pick<MerchantRow, 'status' | 'submissions' | 'isReady'>): ApplicationState {
  switch (status) {
    case 'PENDING':
      return submissions === 0 ? 'draft' : 'under_review';
    case 'APPROVED':
      return isReady ? 'approved' : 'not_ready';
    case 'REJECTED':
      return 'rejected';
    case 'SUSPENDED':
      return 'suspended';
  }
}

/** Whether the merchant may edit and submit. */
export function mayEdit(state: ApplicationState): state is 'draft' | 'rejected' {
  return state === 'draft' || state === 'rejected';
}

const NOT_EDITABLE = {
  under_review: 'The application is under review and cannot be changed until it is decided',
  not_ready: 'The application is approved and can no longer be changed',
  approved: 'The application is approved and can no longer be changed',
  suspended: 'The account is suspended and its application cannot be changed',
} as const satisfies Record<Exclude<ApplicationState, 'draft' | 'rejected'>, string>;

/** @throws DomainError `INVALID_STATE` */
export function assertEditable({ state }: Pick<Application, 'state'>): void {
  if (!mayEdit(state)) throw new DomainError('INVALID_STATE', NOT_EDITABLE[state]);
}

/**
 * What a merchant saw when it submitted, or an operator when it decided. A submission or a decision
 * applies only to what its author has seen.
 */
export function versionOf({
  status,
  submissions,
  edits,
}: Pick<Application, 'status' | 'submissions' | 'edits'>): string {
  return `${status}.${submissions}.${edits}`;
}

/** The parts of an application that a merchant fills in. */
export type Step = 'business' | 'bank' | 'documents';

/** What is still missing or does not fit together, in plain sentences. */
export function missingOf({
  business,
  bank,
  documents,
}: Application): Readonly<Record<Step, readonly string[]>> {
  return {
    business: [...missingFields(BUSINESS_FIELDS, business), ...misfits(business)],
    bank: [
      ...missingFields(BANK_FIELDS, bank),
      ...(bank.ifsc === null ? [] : sentences(ifscViolation(bank.ifsc))),
    ],
    documents: missingDocuments(business.businessKind, documents),
  };
}

/** Whether an application can be submitted. */
export function isComplete(application: Application): boolean {
  return Object.values(missingOf(application)).every(({ length }) => length === 0);
}

const BUSINESS_FIELDS = {
  legalName: 'legal name',
  businessKind: 'kind of business',
  pan: 'PAN',
  phone: 'phone number',
  street: 'registered address',
  city: 'city',
  region: 'state',
  pinCode: 'PIN code',
} as const;

const BANK_FIELDS = {
  accountHolder: "account holder's name",
  accountLastFour: 'bank account number',
  ifsc: 'IFSC',
} as const;

function missingFields<Field extends string>(
  labels: Readonly<Record<Field, string>>,
  values: Readonly<Record<NoInfer<Field>, string | null>>,
): string[] {
  const fields = Object.keys(labels) as Field[];
  return fields
    .filter((field) => values[field] === null)
    .map((field) => `The ${labels[field]} is missing`);
}

const sentences = (...violations: (string | undefined)[]) =>
  violations.filter((violation) => violation !== undefined);

/** Fields that are given but wrong together: each was checked when it was saved. */
function misfits({ businessKind, pan, gstin, phone, pinCode }: BusinessDetails): string[] {
  return sentences(
    businessKind === null || pan === null ? undefined : panViolation(pan, businessKind),
    gstin === null || pan === null ? undefined : gstinViolation(gstin, pan),
    phone === null ? undefined : phoneViolation(phone),
    pinCode === null ? undefined : pinCodeViolation(pinCode),
  );
}

/**
 * Everyone proves who signs and where the money goes. An individual has no registration to show; every other kind of
 * business exists only by its registration, deed or order. Source: the Reserve Bank of India's Master Direction on Know
 * Your Customer.
 */
function missingDocuments(
  kind: BusinessKind | null,
  documents: Application['documents'],
): string[] {
  const given = new Set(documents.map((document) => document.kind));
  return (Object.keys(DOCUMENT_KINDS) as DocumentKind[])
    .filter((document) => kind !== 'individual' || document !== 'business')
    .filter((document) => !given.has(document))
    .map((document) => `${DOCUMENT_KINDS[document].label} is missing`);
}
