import type { Sql } from '../db/client.ts';
import type { BusinessKind } from '../domain/business-identity.ts';
import { DomainError } from '../domain/index.ts';
import type { MerchantRow, MerchantStatus } from '../merchants/public.ts';
import { requireMerchant } from '../merchants/public.ts';
import type { Application, ApplicationState } from './application.ts';
import { stateOf } from './application.ts';
import type { OnboardingDeps } from './edit.ts';
import { readApplication } from './queries.ts';
import { accountNumberContext } from './save.ts';

/** How many merchants a list shows at a time. */
const PER_PAGE = 25;

/** One merchant of a list. */
export interface ListedMerchant {
  merchantId: string;
  name: string;
  email: string;
  state: ApplicationState;
  legalName: string | null;
  businessKind: BusinessKind | null;
  createdAt: Date;
  submittedAt: Date | null;
}

type ListRow = Omit<ListedMerchant, 'state'> &
  Pick<MerchantRow, 'status' | 'submissions' | 'isReady'>;

const listed = ({ status, submissions, isReady, ...row }: ListRow): ListedMerchant => ({
  ...row,
  state: stateOf({ status, submissions, isReady }),
});

const listRows = (sql: Sql) => sql`
  SELECT m.merchant_id, m.name, m.email, m.status, m.submissions, m.created_at,
    a.legal_name, a.business_kind, a.submitted_at,
    is_merchant_ready(m.merchant_id, 'production', m.gateway) AS is_ready
  FROM shared.merchants m LEFT JOIN merchant_applications a USING (merchant_id)`;

/** The applications under review, the one that has waited longest first. */
export async function listUnderReview(sql: Sql): Promise<ListedMerchant[]> {
  const rows = await sql<ListRow[]>`
    ${listRows(sql)} WHERE m.status = 'PENDING' AND m.submissions > 0
    ORDER BY a.submitted_at, m.merchant_id LIMIT ${PER_PAGE}`;
  return rows.map(listed);
}

/** Which merchants to list; an absent field matches all. */
export interface MerchantSearch {
  /** Part of a name, an e-mail address, a PAN or a GSTIN, or a whole merchant id. */
  text?: string | undefined;
  status?: MerchantStatus | undefined;
  /** The merchant id after which the page begins. */
  before?: string | undefined;
}

/** Merchants, the newest first. @returns one page, and the key of the next one */
export async function searchMerchants(
  sql: Sql,
  { text, status, before }: MerchantSearch,
): Promise<{ merchants: ListedMerchant[]; next: string | undefined }> {
  const pattern = `%${(text ?? '').replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const rows = await sql<ListRow[]>`
    ${listRows(sql)} WHERE true
      ${status ? sql`AND m.status = ${status}` : sql``}
      ${before ? sql`AND m.merchant_id < ${before}` : sql``}
      ${
        text
          ? sql`AND (m.merchant_id = ${text} OR m.name ILIKE ${pattern} OR m.email ILIKE ${pattern}
              OR a.legal_name ILIKE ${pattern} OR a.pan ILIKE ${pattern} OR a.gstin ILIKE ${pattern})`
          : sql``
      }
    ORDER BY m.merchant_id DESC LIMIT ${PER_PAGE + 1}`;
  const merchants = rows.slice(0, PER_PAGE).map(listed);
  return { merchants, next: rows.length > PER_PAGE ? merchants.at(-1)?.merchantId : undefined };
}

/** A submission or a decision of the past. */
export interface PastDecision {
  at: Date;
  actor: string;
  /** `application.submit`, `merchant.approve`, … */
  action: string;
  reason: string | null;
}

/** A merchant as operators see it. */
export interface Review {
  merchant: MerchantRow;
  application: Application;
  /** Whether a person signed up for it: only a person can submit an application. */
  hasUser: boolean;
  /** Latest first. */
  history: PastDecision[];
}

const HISTORY_ACTIONS = [
  'application.submit',
  'merchant.create',
  'merchant.approve',
  'merchant.reject',
  'merchant.suspend',
  'merchant.activate',
  'merchant.linkedAccount',
];
const HISTORY_LENGTH = 50;

/** Reads everything that an operator decides by. @throws DomainError `NOT_FOUND` */
export async function readReview(sql: Sql, merchantId: string): Promise<Review> {
  const [merchant, application, users, history] = await Promise.all([
    requireMerchant(sql, merchantId),
    readApplication(sql, merchantId),
    sql`SELECT FROM shared.users WHERE merchant_id = ${merchantId}`,
    sql<PastDecision[]>`
      SELECT at, actor, action, details->>'reason' AS reason FROM audit_log
      WHERE merchant_id = ${merchantId} AND action = ANY (${HISTORY_ACTIONS})
      ORDER BY audit_id DESC LIMIT ${HISTORY_LENGTH}`,
  ]);
  return { merchant, application, hasUser: users.length > 0, history };
}

/**
 * The full bank account number. The audit log names who read it; both are one statement.
 *
 * @throws DomainError `NOT_FOUND` when the merchant has not entered one
 */
export async function openAccountNumber(
  { sql, dataBox, actor }: OnboardingDeps,
  merchantId: string,
): Promise<string> {
  const [row] = await sql<{ accountNumberSealed: string }[]>`
    WITH read AS (
      SELECT merchant_id, account_number_sealed FROM merchant_applications
      WHERE merchant_id = ${merchantId} AND account_number_sealed IS NOT NULL
    ),
    audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id)
      SELECT ${actor.name}, ${actor.address}, 'accountNumber.read', merchant_id FROM read
    )
    SELECT account_number_sealed FROM read`;
  if (!row) throw new DomainError('NOT_FOUND', 'The merchant has not entered a bank account');
  return dataBox.open(row.accountNumberSealed, accountNumberContext(merchantId));
}
