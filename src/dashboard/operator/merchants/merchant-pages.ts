import { z } from 'zod';
import type { StatusChange } from '../../../merchants/public.ts';
import {
  decideMerchant,
  openAccountNumber,
  openDocument,
  readReview,
} from '../../../onboarding/public.ts';
import { listOpenAbout } from '../../../proposals/public.ts';
import type { PageReply } from '../../reply.ts';
import { documentReply } from '../../view/application.ts';
import { pathWith } from '../../view/url.ts';
import type { OperatorViewer } from '../../viewer.ts';
import type { MerchantReviewDeps } from '../parts.ts';
import { merchantPath, reviewPage } from '../parts.ts';
import { proposeAndShow, proposerOf } from '../proposal-tables.ts';
import type { Shown } from './merchant-forms.ts';
import { isReviewed, merchantView } from './merchant-view.ts';
import { readVolume } from './volume.ts';

const text = z.string().default('');
const merchantParams = z.object({ merchant: z.string() });

type ViewReply = Extract<PageReply, { view: unknown }>;

async function merchantReply(
  { sql }: MerchantReviewDeps,
  viewer: OperatorViewer,
  merchantId: string,
  shown: Omit<Shown, 'volume'>,
): Promise<ViewReply> {
  const [review, proposals, volume] = await Promise.all([
    readReview(sql, merchantId),
    listOpenAbout(sql, merchantId),
    readVolume(sql, merchantId),
  ]);
  return {
    view: merchantView(viewer, review, { ...shown, proposals, volume }),
    embedsFiles: isReviewed(review),
  };
}

/** The refusals that the page shows itself. */
const REFUSALS = ['BAD_REQUEST', 'INVALID_STATE', 'GATEWAY_UNAVAILABLE'] as const;

export const merchantPages = [
  reviewPage('GET /merchants/{merchant}', {
    params: merchantParams,
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ viewer, params: { merchant }, query: { done } }, deps) =>
    merchantReply(deps, viewer, merchant, { done }),
  ),
  reviewPage('GET /merchants/{merchant}/documents/{document}', {
    params: merchantParams.extend({ document: z.string() }),
    query: z.object({ shown: z.string().optional() }),
  }).handledBy(async ({ actor, params: { merchant, document }, query: { shown } }, deps) => {
    const opened = await openDocument({ ...deps, actor }, merchant, document);
    return documentReply(opened, { isEmbedded: shown === 'here' });
  }),
  // A form and no link, because each look at the number is an entry of the audit log.
  reviewPage('POST /merchants/{merchant}/account-number', {
    permission: 'accountNumber.read',
    params: merchantParams,
  }).handledBy(async ({ viewer, actor, params: { merchant } }, deps) => {
    const accountNumber = await openAccountNumber({ ...deps, actor }, merchant);
    return merchantReply(deps, viewer, merchant, { accountNumber });
  }),
  reviewPage('POST /merchants/{merchant}/linked-account', {
    formPath: '/merchants/{merchant}',
    refusals: REFUSALS,
    permission: 'merchant.linkedAccount',
    asksAgain: true,
    params: merchantParams,
    body: z.object({ linkedAccountId: text, accountReason: text }),
  }).handledBy(async ({ viewer, actor, params: { merchant }, body }, deps) => {
    return proposeAndShow(deps, proposerOf({ viewer, actor }), {
      kind: 'merchant.linkedAccount',
      subject: merchant,
      parameters: { linkedAccountId: body.linkedAccountId.trim() },
      reason: body.accountReason,
    });
  }),
  reviewPage('POST /merchants/{merchant}/decision', {
    formPath: '/merchants/{merchant}',
    refusals: REFUSALS,
    permission: 'merchant.review',
    asksAgain: ({ body: { change } }) => isProposed(change),
    params: merchantParams,
    body: z.object({
      change: z.enum(['approve', 'reject', 'suspend', 'activate']),
      reason: text,
      version: text,
      firstAccountId: text,
    }),
  }).handledBy(async ({ viewer, actor, params: { merchant }, body }, deps) => {
    const { change, reason, version: seenVersion, firstAccountId } = body;
    if (isProposed(change)) {
      const account = { linkedAccountId: firstAccountId.trim() || null };
      return proposeAndShow(deps, proposerOf({ viewer, actor }), {
        kind: `merchant.${change}`,
        subject: merchant,
        parameters: change === 'approve' ? account : {},
        reason,
        seen: { version: seenVersion },
      });
    }
    await decideMerchant({ ...deps, actor }, merchant, { change, reason, seenVersion });
    return { seeOther: pathWith(merchantPath(merchant), { done: change }) };
  }),
];

const isProposed = (change: StatusChange): change is 'approve' | 'activate' =>
  change === 'approve' || change === 'activate';
