import { DomainError } from '../domain/index.ts';
import { isComplete, versionOf } from './application.ts';
import { submittedOf } from './changes.ts';
import type { OnboardingDeps } from './edit.ts';
import { CHANGED_MEANWHILE, readEditable } from './edit.ts';

/**
 * Submits an application for review: a rejected merchant is PENDING again.
 *
 * The statement applies only to the version that the merchant saw and that was checked here. If an
 * operator decides, or another tab edits, at the same moment, one of the two comes first and the
 * other one is refused.
 *
 * @param seenVersion `versionOf` the application on the merchant's page
 * @throws DomainError `INVALID_STATE` when it is incomplete, has changed or may not be edited,
 *   `NOT_FOUND`
 */
export async function submitApplication(
  { sql, actor }: Pick<OnboardingDeps, 'sql' | 'actor'>,
  merchantId: string,
  seenVersion: string,
): Promise<void> {
  const application = await readEditable(sql, merchantId);
  const { status, submissions, edits, documents } = application;
  if (versionOf(application) !== seenVersion) throw changedMeanwhile();
  if (!isComplete(application)) {
    throw new DomainError('INVALID_STATE', 'The application is not complete yet');
  }
  const details = {
    submission: submissions + 1,
    documents: documents.map(({ documentId }) => documentId),
  };
  const submitted = await sql`
    WITH submitted AS (
      UPDATE merchants
      SET status = 'PENDING', status_reason = NULL, submissions = submissions + 1
      WHERE merchant_id = ${merchantId} AND status = ${status} AND submissions = ${submissions}
        AND application_edits = ${edits}
      RETURNING merchant_id
    ),
    dated AS (
      UPDATE merchant_applications a
      SET submitted_at = service_now(), submitted_before = a.submitted,
        submitted = ${JSON.stringify(submittedOf(application))}::text::jsonb
      FROM submitted WHERE a.merchant_id = submitted.merchant_id
    ),
    audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'application.submit', merchant_id, ${sql.json(details)}
      FROM submitted
    )
    SELECT FROM submitted`;
  if (submitted.length === 0) throw changedMeanwhile();
}

const changedMeanwhile = () => new DomainError('INVALID_STATE', CHANGED_MEANWHILE);
