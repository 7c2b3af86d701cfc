import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { BUSINESS_KINDS } from '../../domain/business-identity.ts';
import type { Readiness } from '../../merchants/public.ts';
import { whyNotReady } from '../../merchants/public.ts';
import type {
  Application,
  ApplicationState,
  BankDetails,
  BusinessDetails,
  DocumentFacts,
  OpenedDocument,
} from '../../onboarding/public.ts';
import { changesSince, DOCUMENT_KINDS } from '../../onboarding/public.ts';
import type { PageReply } from '../reply.ts';
import type { Tone } from './parts.ts';
import { emptyState, facts, hint, moment, more, section, tag } from './parts.ts';
import { dataTable } from './table.ts';
import { shortMoment } from './texts.ts';
import { embeddedPdf, link, picture } from './url.ts';

const STATES = {
  draft: ['plain', 'Not submitted'],
  under_review: ['wait', 'Under review'],
  not_ready: ['wait', 'Approved, cannot take payments yet'],
  approved: ['good', 'Approved'],
  rejected: ['bad', 'Rejected'],
  suspended: ['bad', 'Suspended'],
} as const satisfies Record<ApplicationState, readonly [Tone, string]>;

export function applicationState(state: ApplicationState) {
  const [tone, text] = STATES[state];
  return tag(tone, text);
}

const typed = (text: string | null) => (text === null ? '–' : h('span', { dir: 'auto' }, text));

export function businessFacts(business: BusinessDetails) {
  const { businessKind, street, city, region, pinCode } = business;
  const address = [street, city, region, pinCode].filter((part) => part !== null).join(', ');
  return facts({
    'Legal name': typed(business.legalName),
    Kind: businessKind === null ? '–' : BUSINESS_KINDS[businessKind].label,
    PAN: business.pan ?? '–',
    GSTIN: business.gstin ?? 'None',
    Phone: business.phone === null ? '–' : `+91 ${business.phone}`,
    'Registered address': typed(address || null),
  });
}

/** @param accountNumber is shown in place of the last four digits */
export function bankFacts(bank: BankDetails, accountNumber?: ComponentChildren) {
  const { accountHolder, accountLastFour, ifsc } = bank;
  return facts({
    'Account holder': typed(accountHolder),
    'Account number': accountNumber ?? (accountLastFour === null ? '–' : `•••• ${accountLastFour}`),
    IFSC: ifsc ?? '–',
  });
}

const SIZE = new Intl.NumberFormat('en-IN', { maximumFractionDigits: 1 });

function sizeText(sizeBytes: number): string {
  const kilobytes = sizeBytes / 1024;
  return kilobytes < 1024 ? `${Math.ceil(kilobytes)} KB` : `${SIZE.format(kilobytes / 1024)} MB`;
}

/** @param actionOf what can be done with a document; without it there is no such column */
export function documentTable(
  documents: readonly DocumentFacts[],
  pathOf: (document: DocumentFacts) => string,
  actionOf?: (document: DocumentFacts) => ComponentChildren,
) {
  const now = new Date();
  return dataTable({
    caption: 'Documents',
    columns: {
      Proves: ({ kind }) => DOCUMENT_KINDS[kind].label,
      File: (document) => link(pathOf(document), h('bdi', null, document.fileName)),
      Size: { isNumber: true, cell: ({ sizeBytes }) => sizeText(sizeBytes) },
      Uploaded: ({ uploadedAt }) => shortMoment(uploadedAt, now),
      ...(actionOf && { Change: actionOf }),
    },
    rows: documents,
    empty: 'No documents yet.',
  });
}

const PDF = 'application/pdf';
const NO_READER = 'This browser cannot show a PDF inside a page: save it with the link above.';

/** Pictures and PDFs as they are, each with a link that saves it. */
export function shownDocuments(
  documents: readonly DocumentFacts[],
  pathOf: (document: DocumentFacts) => string,
) {
  if (documents.length === 0) return emptyState('No documents yet.');
  return documents.map((document) => {
    const { documentId, kind, fileName, mediaType, sizeBytes, uploadedAt } = document;
    const name = `${DOCUMENT_KINDS[kind].label}: ${fileName}`;
    const path = pathOf(document);
    return h(
      'figure',
      { key: documentId, class: 'document' },
      h(
        'figcaption',
        null,
        h('strong', null, DOCUMENT_KINDS[kind].label),
        ' ',
        link(path, h('bdi', null, fileName)),
        h('span', { class: 'hint' }, ` ${sizeText(sizeBytes)}, uploaded `, moment(uploadedAt)),
      ),
      mediaType === PDF
        ? embeddedPdf(`${path}?shown=here`, name, hint(NO_READER))
        : picture(path, name),
    );
  });
}

/** The differences from the submission before; nothing without one. */
export function changesSection(application: Application) {
  const changes = changesSince(application);
  if (changes === undefined) return null;
  return section(
    'changes',
    'Changed since the earlier submission',
    dataTable({
      caption: 'What differs from what was submitted before',
      rows: changes,
      empty: 'Nothing has changed.',
      columns: {
        What: ({ what }) => what,
        Before: ({ before }) => typed(before),
        Now: ({ after }) => typed(after),
      },
    }),
  );
}

/** Characters that RFC 8187 does not allow, and `encodeURIComponent` leaves. */
const NOT_IN_RFC_8187 = /['()*]/g;

const EMBEDDED =
  "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'";

/**
 * A document as a download, where a crafted file cannot run as a page of this service; a browser that shows it
 * anyway gives it no rights.
 *
 * @param options.isEmbedded for a PDF inside a page of this service: browsers show it with a reader of their own, and not
 *   in a sandbox. Pictures need no such rights.
 */
export function documentReply(
  { fileName, mediaType, content }: OpenedDocument,
  { isEmbedded = false } = {},
): PageReply {
  const isShown = isEmbedded && mediaType === PDF;
  const plain = fileName.replaceAll(/[^\w .-]/g, '_');
  const encoded = encodeURIComponent(fileName).replaceAll(
    NOT_IN_RFC_8187,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    file: content,
    contentType: mediaType,
    headers: {
      'Content-Disposition': `${isShown ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${encoded}`,
      'Content-Security-Policy': isShown ? EMBEDDED : "sandbox; default-src 'none'",
      ...(isShown && { 'X-Frame-Options': 'SAMEORIGIN' }),
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    },
  };
}

/** The reason as a clause; null if the merchant can take payments in production. */
export function notReadyReason(readiness: Readiness): ComponentChildren {
  const why = whyNotReady(readiness);
  return why && [why.reason, why.until && [': it does from ', moment(why.until), ' on']];
}

/** The reason why an approved merchant cannot take payments in production, as sentences with the consequence. */
export function notReadyText(readiness: Readiness): ComponentChildren {
  return [
    'In production the account cannot take payments yet, because ',
    notReadyReason(readiness),
    '. Until then creating an order there answers 403, and buyers cannot pay. The sandbox works.',
  ];
}

/** What a suspension stops and what continues. Source: the contract's "a suspended merchant". */
export const SUSPENSION_STOPS =
  'The API answers 403 and buyers cannot start payments. Releases wait: the orders stay delivered. ' +
  'Payments that were begun still count, and disputes, refunds and webhooks continue. Disputes are answered ' +
  'in the dashboard.';

/** Further items are shown on demand. */
const MOST_AT_ONCE = 5;

/** A list of what an application lacks; nothing if it is complete. */
export function missingList(missing: readonly string[]) {
  if (missing.length === 0) return null;
  const list = h(
    'ul',
    { class: 'list' },
    missing.map((text) => h('li', { key: text }, `${text}.`)),
  );
  return missing.length > MOST_AT_ONCE ? more(`${missing.length} details are missing`, list) : list;
}
