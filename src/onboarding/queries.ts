import type { Sql } from '../db/client.ts';
import type { MerchantStatus, Readiness } from '../merchants/public.ts';
import { merchantNotFound, readinessColumns, readinessJoin } from '../merchants/public.ts';
import type {
  Application,
  BankDetails,
  BusinessDetails,
  DocumentFacts,
  Submitted,
} from './application.ts';
import { stateOf } from './application.ts';

/** An application as one row; a merchant that has entered nothing has nulls. */
type ApplicationRow = BusinessDetails &
  BankDetails &
  Readiness & {
    merchantId: string;
    status: MerchantStatus;
    statusReason: string | null;
    submissions: number;
    applicationEdits: number;
    submittedAt: Date | null;
    submitted: Submitted | null;
    submittedBefore: Submitted | null;
    documents: (Omit<DocumentFacts, 'uploadedAt'> & { uploadedAt: string })[];
  };

/**
 * A merchant's application with the facts of its documents; empty if it has not begun one.
 *
 * @throws DomainError `NOT_FOUND`
 */
export async function readApplication(sql: Sql, merchantId: string): Promise<Application> {
  const [row] = await sql<ApplicationRow[]>`
    SELECT m.merchant_id, m.status, m.status_reason, m.submissions, m.application_edits, m.gateway,
      ${readinessColumns(sql)},
      a.legal_name, a.business_kind, a.pan, a.gstin, a.phone, a.street, a.city, a.region, a.pin_code,
      a.account_holder, a.account_last_four, a.account_number_at, a.ifsc, a.submitted_at, a.submitted,
      a.submitted_before,
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('documentId', d.document_id, 'kind', d.kind,
          'fileName', d.file_name, 'mediaType', d.media_type, 'sizeBytes', d.size_bytes,
          'sha256', encode(d.sha256, 'hex'), 'uploadedAt', d.uploaded_at) ORDER BY d.document_id)
        FROM merchant_documents d WHERE d.merchant_id = m.merchant_id), '[]') AS documents
    FROM shared.merchants m ${readinessJoin(sql)}
    LEFT JOIN merchant_applications a ON a.merchant_id = m.merchant_id
    WHERE m.merchant_id = ${merchantId}`;
  if (!row) throw merchantNotFound(merchantId);
  return applicationOf(row);
}

function applicationOf(row: ApplicationRow): Application {
  const { legalName, businessKind, pan, gstin, phone, street, city, region, pinCode } = row;
  const { accountHolder, accountLastFour, accountNumberAt, ifsc } = row;
  const { merchantId, status, statusReason, submissions, submittedAt } = row;
  const { gateway, isReady, linkedAccountState, transfersFrom } = row;
  return {
    merchantId,
    status,
    state: stateOf(row),
    readiness: { gateway, isReady, linkedAccountState, transfersFrom },
    statusReason,
    submissions,
    submittedAt,
    edits: row.applicationEdits,
    submitted: row.submitted,
    submittedBefore: row.submittedBefore,
    business: { legalName, businessKind, pan, gstin, phone, street, city, region, pinCode },
    bank: { accountHolder, accountLastFour, accountNumberAt, ifsc },
    documents: row.documents.map((document) => ({
      ...document,
      uploadedAt: new Date(document.uploadedAt),
    })),
  };
}
