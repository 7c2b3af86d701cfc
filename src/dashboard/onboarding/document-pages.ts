import { h } from 'preact';
import { z } from 'zod';
import { ValidationError } from '../../http/responses/errors.ts';
import type { Application, DocumentFacts, DocumentKind } from '../../onboarding/public.ts';
import {
  addDocument,
  DOCUMENT_KINDS,
  MAX_DOCUMENTS,
  mayEdit,
  missingOf,
  openDocument,
  readApplication,
  removeDocument,
} from '../../onboarding/public.ts';
import { refusedAt } from '../context.ts';
import { documentReply, documentTable, missingList } from '../view/application.ts';
import { choice, fileField, refused, submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { doneNotice, notice, section } from '../view/parts.ts';
import { form, link, pathWith } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { applicationSteps, onboardingPage, stepPath } from './parts.ts';

const DONE = {
  added: 'The document is stored.',
  removed: 'The document is removed.',
} as const;

const documentParams = z.object({ document: z.string() });

export const documentPages = [
  onboardingPage('GET /onboarding/documents', {
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ viewer, query: { done } }, deps) => {
    const application = await readApplication(deps.sql, viewer.merchantId);
    if (!mayEdit(application.state)) return { seeOther: stepPath(viewer, 'review') };
    return { view: documentsView(viewer, application, done) };
  }),
  onboardingPage('POST /onboarding/documents', {
    bodyType: 'multipart',
    body: z.object({
      kind: z.string().default(''),
      file: z.instanceof(File, { error: 'must be a file' }).optional(),
    }),
  }).handledBy(async ({ viewer, actor, body: { kind, file } }, deps) => {
    if (!isDocumentKind(kind)) {
      throw new ValidationError({ kind: 'Choose what the document proves' });
    }
    if (file === undefined) throw new ValidationError({ file: 'Choose a file' });
    const upload = { kind, fileName: file.name, content: await file.bytes() };
    await refusedAt('file', () => addDocument({ ...deps, actor }, viewer.merchantId, upload));
    return { seeOther: pathWith(stepPath(viewer, 'documents'), { done: 'added' }) };
  }),
  onboardingPage('POST /onboarding/documents/{document}/remove', {
    params: documentParams,
  }).handledBy(async ({ viewer, actor, params }, deps) => {
    await removeDocument({ ...deps, actor }, viewer.merchantId, params.document);
    return { seeOther: pathWith(stepPath(viewer, 'documents'), { done: 'removed' }) };
  }),
  onboardingPage('GET /onboarding/documents/{document}', {
    params: documentParams,
  }).handledBy(async ({ viewer, actor, params }, deps) =>
    documentReply(await openDocument({ ...deps, actor }, viewer.merchantId, params.document)),
  ),
];

const isDocumentKind = (kind: string): kind is DocumentKind => Object.hasOwn(DOCUMENT_KINDS, kind);

function documentsView(
  viewer: MerchantViewer,
  application: Application,
  done: string | undefined,
): View {
  const missing = missingOf(application).documents;
  const path = stepPath(viewer, 'documents');
  const remove = ({ documentId, fileName }: DocumentFacts) =>
    form(
      `${path}/${documentId}/remove`,
      { 'aria-label': `Remove ${fileName}` },
      submit('Remove', 'small'),
    );
  return {
    title: 'Your documents',
    content: [
      applicationSteps(viewer, application, 'documents'),
      doneNotice(DONE, done),
      refused({ atFields: 'The document was not stored.' }),
      section(
        'stored',
        'Stored documents',
        documentTable(application.documents, ({ documentId }) => `${path}/${documentId}`, remove),
        missingList(missing),
        missing.length === 0 &&
          h('p', null, link(stepPath(viewer, 'review'), 'Continue to the review')),
      ),
      application.documents.length < MAX_DOCUMENTS
        ? uploadSection(path, nextKind(application))
        : notice('plain', `You have ${MAX_DOCUMENTS} documents. Remove one to upload another.`),
    ],
  };
}

/** The kind that the form suggests: the first without a document. */
function nextKind({ documents }: Application): string | undefined {
  const given = new Set<string>(documents.map(({ kind }) => kind));
  return Object.keys(DOCUMENT_KINDS).find((kind) => !given.has(kind));
}

const KIND_CHOICES = Object.fromEntries(
  Object.entries(DOCUMENT_KINDS).map(([kind, { label }]) => [kind, label]),
);

function uploadSection(path: string, kind: string | undefined) {
  return section(
    'upload',
    'Upload a document',
    h(
      'ul',
      { class: 'list' },
      Object.values(DOCUMENT_KINDS).map(({ label, examples }) =>
        h('li', { key: label }, h('strong', null, label), `: ${examples}.`),
      ),
    ),
    form(
      path,
      { enctype: 'multipart/form-data', 'aria-label': 'Upload a document' },
      choice({
        name: 'kind',
        label: 'What it proves',
        choices: KIND_CHOICES,
        placeholder: 'Choose',
        required: true,
        value: kind,
      }),
      fileField({
        name: 'file',
        label: 'File',
        hint: 'PDF, JPEG or PNG, up to 5 MB. It is stored encrypted.',
        accept: '.pdf,.jpg,.jpeg,.png,application/pdf,image/jpeg,image/png',
        required: true,
      }),
      submit('Upload'),
    ),
  );
}
