import { BUSINESS_KINDS } from '../domain/business-identity.ts';
import type { Application, BusinessDetails, DocumentKind, Submitted } from './application.ts';
import { DOCUMENT_KINDS, mayEdit } from './application.ts';

/** Something that differs from the earlier submission. */
export interface ApplicationChange {
  what: string;
  /** Null if it was not given. */
  before: string | null;
  /** Null if it is not given any more. */
  after: string | null;
}

const FIELDS = {
  legalName: 'Legal name',
  businessKind: 'Kind of business',
  pan: 'PAN',
  gstin: 'GSTIN',
  phone: 'Phone number',
  street: 'Registered address',
  city: 'City',
  region: 'State',
  pinCode: 'PIN code',
} as const satisfies Record<keyof BusinessDetails, string>;

/** The parts of an application that a submission keeps. */
export function submittedOf({
  business,
  bank,
  documents,
}: Pick<Application, 'business' | 'bank' | 'documents'>): Submitted {
  return {
    business: { ...business },
    bank: { ...bank, accountNumberAt: bank.accountNumberAt?.toISOString() ?? null },
    documents: documents.map(({ documentId, kind, fileName }) => ({ documentId, kind, fileName })),
  };
}

/**
 * What differs from an earlier submission: a submitted application is compared with the submission before it; one
 * being edited, with the last.
 *
 * @returns in the order of the application; undefined without an earlier submission
 */
export function changesSince(application: Application): ApplicationChange[] | undefined {
  const { state, submitted, submittedBefore } = application;
  const before = mayEdit(state) ? submitted : submittedBefore;
  return before === null ? undefined : changesBetween(before, submittedOf(application));
}

function changesBetween(before: Submitted, after: Submitted): ApplicationChange[] {
  const fields = Object.keys(FIELDS) as (keyof BusinessDetails)[];
  const [bank, newBank] = [before.bank, after.bank];
  const values = [
    ...fields.map((field) => ({
      what: FIELDS[field],
      before: textOf(field, before.business),
      after: textOf(field, after.business),
    })),
    { what: 'Account holder', before: bank.accountHolder, after: newBank.accountHolder },
    { what: 'Account number', ...accountNumbers(bank, newBank) },
    { what: 'IFSC', before: bank.ifsc, after: newBank.ifsc },
  ];
  const files = (Object.keys(DOCUMENT_KINDS) as DocumentKind[]).map((kind) => ({
    what: DOCUMENT_KINDS[kind].label,
    before: fileNamesMissingIn(after, kind, before),
    after: fileNamesMissingIn(before, kind, after),
  }));
  return [
    ...values.filter((change) => change.before !== change.after),
    // A file that replaces another one may have the same name.
    ...files.filter((change) => change.before !== null || change.after !== null),
  ];
}

function textOf(field: keyof BusinessDetails, business: BusinessDetails): string | null {
  if (field !== 'businessKind') return business[field];
  return business.businessKind && BUSINESS_KINDS[business.businessKind].label;
}

/** A number that was entered again may end in the same digits. */
function accountNumbers(before: Submitted['bank'], after: Submitted['bank']) {
  const shown = ({ accountLastFour }: Submitted['bank']) =>
    accountLastFour === null ? null : `•••• ${accountLastFour}`;
  const isSame = before.accountNumberAt === after.accountNumberAt;
  const again = isSame || after.accountLastFour === null ? '' : ', entered again';
  return { before: shown(before), after: shown(after) && `${shown(after)}${again}` };
}

/** The names of the files of a kind that `other` does not have. */
function fileNamesMissingIn(
  other: Submitted,
  kind: DocumentKind,
  { documents }: Submitted,
): string | null {
  const known = new Set(other.documents.map(({ documentId }) => documentId));
  const names = documents
    .filter((document) => document.kind === kind && !known.has(document.documentId))
    .map(({ fileName }) => fileName);
  return names.length === 0 ? null : names.join(', ');
}
