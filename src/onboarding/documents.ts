import { createHash } from 'node:crypto';
import { ulid } from 'ulid';
import { DomainError } from '../domain/index.ts';
import type { DocumentKind } from './application.ts';
import type { OnboardingDeps } from './edit.ts';
import { applyEdit, CHANGED_MEANWHILE, readEditable } from './edit.ts';
import { checkFile } from './file.ts';

/** How many documents a merchant may have. */
export const MAX_DOCUMENTS = 10;

/** Uploads at the same moment: each round, one of them is written. */
const MAX_TRIES = 2 * MAX_DOCUMENTS;

/** What a sealed document belongs to. */
export const documentContext = (merchantId: string, documentId: string) => [
  merchantId,
  documentId,
  'document',
];

const documentNotFound = () => new DomainError('NOT_FOUND', 'Document not found');

/** A document as it was uploaded. */
export interface Upload {
  kind: DocumentKind;
  /** The name that the browser declared. */
  fileName: string;
  content: Uint8Array;
}

/**
 * Stores a document. The same file uploaded again for the same purpose is stored once.
 *
 * The number of documents is checked before the statement, which is then refused when the application
 * was edited in between: of two uploads at the same moment the second one counts again.
 *
 * @throws DomainError `BAD_REQUEST` when the file is not a document, `INVALID_STATE` when the
 *   application may not be edited or has 10 documents, `NOT_FOUND`
 */
export async function addDocument(
  deps: OnboardingDeps,
  merchantId: string,
  { kind, fileName: declaredName, content }: Upload,
): Promise<void> {
  const { sql, dataBox } = deps;
  const { fileName, mediaType } = checkFile(content, declaredName);
  const documentId = `doc_${ulid()}`;
  const sha256 = createHash('sha256').update(content).digest();
  const sealed = dataBox.sealBytes(content, documentContext(merchantId, documentId));
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const application = await readEditable(sql, merchantId);
    const { documents } = application;
    const hash = sha256.toString('hex');
    if (documents.some((document) => document.kind === kind && document.sha256 === hash)) return;
    if (documents.length >= MAX_DOCUMENTS) throw tooManyDocuments();
    const write = sql`
      INSERT INTO merchant_documents
        (document_id, merchant_id, kind, file_name, media_type, size_bytes, sha256, content_sealed)
      SELECT ${documentId}, merchant_id, ${kind}::document_kind, ${fileName}, ${mediaType},
        ${content.length}, ${sha256}, ${sealed}
      FROM edited RETURNING 1`;
    const details = { kind, sizeBytes: content.length, sha256: hash };
    const action = 'application.document.add';
    const edit = { write, action, subject: documentId, details, isExclusive: true } as const;
    if (await applyEdit(deps, application, edit)) return;
  }
  throw new DomainError('INVALID_STATE', CHANGED_MEANWHILE);
}

const tooManyDocuments = () =>
  new DomainError(
    'INVALID_STATE',
    `An application has at most ${MAX_DOCUMENTS} documents; remove one first`,
  );

/**
 * Deletes a document with its content.
 *
 * @throws DomainError `NOT_FOUND`, `INVALID_STATE` when the application may not be edited
 */
export async function removeDocument(
  deps: OnboardingDeps,
  merchantId: string,
  documentId: string,
): Promise<void> {
  const { sql } = deps;
  const application = await readEditable(sql, merchantId);
  const document = application.documents.find((one) => one.documentId === documentId);
  if (!document) throw documentNotFound();
  const write = sql`
    DELETE FROM merchant_documents d USING edited
    WHERE d.document_id = ${documentId} AND d.merchant_id = edited.merchant_id RETURNING 1`;
  const details = { kind: document.kind, sha256: document.sha256 };
  const action = 'application.document.remove';
  const edit = { write, action, subject: documentId, details } as const;
  // Not made: it is no longer editable, or a second click has removed the document.
  if (!(await applyEdit(deps, application, edit))) await readEditable(sql, merchantId);
}

/** A document with its content. */
export interface OpenedDocument {
  fileName: string;
  mediaType: string;
  content: Buffer;
}

/**
 * Opens a document. The audit log names who read it; both are one statement.
 *
 * @throws DomainError `NOT_FOUND` when the merchant has no such document
 */
export async function openDocument(
  { sql, dataBox, actor }: OnboardingDeps,
  merchantId: string,
  documentId: string,
): Promise<OpenedDocument> {
  const [row] = await sql<{ fileName: string; mediaType: string; contentSealed: Buffer }[]>`
    WITH read AS (
      SELECT document_id, file_name, media_type, content_sealed, kind FROM merchant_documents
      WHERE document_id = ${documentId} AND merchant_id = ${merchantId}
    ),
    audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${actor.name}, ${actor.address}, 'document.read', ${merchantId}, document_id,
        jsonb_build_object('kind', kind)
      FROM read
    )
    SELECT file_name, media_type, content_sealed FROM read`;
  if (!row) throw documentNotFound();
  const { fileName, mediaType, contentSealed } = row;
  const content = dataBox.openBytes(contentSealed, documentContext(merchantId, documentId));
  return { fileName, mediaType, content };
}
