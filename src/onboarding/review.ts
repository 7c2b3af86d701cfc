import type { Alongside } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { MailDeps } from '../mail/public.ts';
import { prepareMail, startMail } from '../mail/public.ts';
import type { AccountChange, StatusChange } from '../merchants/public.ts';
import { changeMerchantStatus } from '../merchants/public.ts';
import type { ApplicationState } from './application.ts';
import { versionOf } from './application.ts';
import type { OnboardingDeps } from './edit.ts';
import { CHANGED_MEANWHILE } from './edit.ts';
import { decisionMail } from './mails.ts';
import type { Review } from './review-queries.ts';
import { readReview } from './review-queries.ts';

const MAX_REASON_LENGTH = 1000;

/** The decisions that an operator may make about a merchant that has signed up. */
const DECISIONS = {
  /** Only what was submitted can be approved. */
  draft: ['reject'],
  under_review: ['approve', 'reject'],
  not_ready: ['suspend', 'reject'],
  approved: ['suspend', 'reject'],
  /** The merchant edits its application and submits it again. */
  rejected: [],
  suspended: ['activate', 'reject'],
} as const satisfies Record<ApplicationState, readonly StatusChange[]>;

/** The same for a merchant made on the command line, which has no person who submits. */
const DECISIONS_WITHOUT_USER = {
  ...DECISIONS,
  draft: ['approve', 'reject'],
  rejected: ['approve'],
} as const satisfies Record<ApplicationState, readonly StatusChange[]>;

/** The decisions that can be made about a merchant now. */
export function decisionsOf({
  application: { state },
  hasUser,
}: Pick<Review, 'application' | 'hasUser'>): readonly StatusChange[] {
  return (hasUser ? DECISIONS : DECISIONS_WITHOUT_USER)[state];
}

const STATE_TEXTS = {
  draft: 'has not submitted its application',
  under_review: 'waits for a decision',
  not_ready: 'is approved',
  approved: 'is approved',
  rejected: 'is rejected, and must submit its application again first',
  suspended: 'is suspended',
} as const satisfies Record<ApplicationState, string>;

/** @throws DomainError `INVALID_STATE` if the decision cannot be made about the merchant now */
export function assertDecisionFits(
  review: Pick<Review, 'application' | 'hasUser'>,
  change: StatusChange,
): void {
  if (decisionsOf(review).includes(change)) return;
  const message = `Cannot ${change}; the merchant ${STATE_TEXTS[review.application.state]}`;
  throw new DomainError('INVALID_STATE', message);
}

/** What a decision needs. */
export interface ReviewDeps
  extends Pick<OnboardingDeps, 'sql' | 'actor'>, Pick<MailDeps, 'mailBox' | 'mails'> {
  /** Where the merchant reaches its dashboard, for the mail. */
  publicBaseUrl: string;
  alongside?: Alongside | undefined;
}

/** An operator's decision about a merchant. */
export interface Decision {
  change: StatusChange;
  /** Which the merchant sees when it is rejected or suspended. */
  reason: string;
  /** `versionOf` the application that the operator has seen. */
  seenVersion: string;
  /** The first linked account, which an approval may set, and its gateway: `prepareAccountChange`. */
  linkedAccount?: AccountChange | undefined;
}

/**
 * Approves, rejects, suspends or activates a merchant, and writes the mail about it in the same
 * statement, so that neither happens without the other.
 *
 * @throws DomainError `BAD_REQUEST` without a reason, `INVALID_STATE` when the decision does not fit or the
 *   merchant has changed since the operator saw it, `NOT_FOUND`
 */
export async function decideMerchant(
  deps: ReviewDeps,
  merchantId: string,
  { change, reason: given, seenVersion, linkedAccount }: Decision,
): Promise<void> {
  const reason = given.trim();
  if (reason === '' || [...reason].length > MAX_REASON_LENGTH) {
    throw new DomainError(
      'BAD_REQUEST',
      `The reason must have 1 to ${MAX_REASON_LENGTH} characters`,
    );
  }
  const { sql, actor, alongside } = deps;
  const review = await readReview(sql, merchantId);
  const { application, merchant } = review;
  if (versionOf(application) !== seenVersion) {
    throw new DomainError('INVALID_STATE', CHANGED_MEANWHILE);
  }
  assertDecisionFits(review, change);
  const { status, submissions } = application;
  const isReady = linkedAccount ? receivesTransfers(linkedAccount) : merchant.isReady;
  const wasApproved = status === 'APPROVED' || status === 'SUSPENDED';
  const circumstances = { change, reason, isReady, wasApproved };
  const content = decisionMail(circumstances, merchant.name, deps.publicBaseUrl);
  const mail = prepareMail(deps, { to: merchant.email, ...content });
  await changeMerchantStatus({ sql, actor, alongside }, merchantId, change, {
    reason,
    seen: { status, submissions },
    mail,
    linkedAccount,
  });
  startMail(deps, mail);
}

/** Whether its merchant can be paid out to at once. */
function receivesTransfers({ account: { state, transfersFrom } }: AccountChange): boolean {
  return (state === 'activated' || state === 'unknown') && transfersFrom.getTime() <= Date.now();
}
