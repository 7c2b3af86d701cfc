import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { Environment } from '../../domain/index.ts';
import type { OnboardingDeps, ReviewDeps } from '../../onboarding/public.ts';
import type { AmountRule, ProposalDeps } from '../../proposals/public.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import type { WorkflowInspector } from '../../temporal/pending-activities.ts';
import { pagesOf } from '../page.ts';
import { textArea } from '../view/fields.ts';
import { doneNotice, environmentTag, hint } from '../view/parts.ts';
import { shortId, shortText } from '../view/texts.ts';
import { link } from '../view/url.ts';

export const operatorPage = pagesOf<OperatorPageDeps, 'operator'>('operator');
export const reviewPage = pagesOf<MerchantReviewDeps, 'operator'>('operator');

export function orderLink(orderNumber: string) {
  return shortId(
    'order number',
    orderNumber,
    `/operator/orders/${encodeURIComponent(orderNumber)}`,
  );
}

/** The link's text is the name, its title the id. */
export function merchantLink(merchantId: string, name: string | null) {
  return link(merchantPath(merchantId), shortText(name ?? merchantId, 24), { title: merchantId });
}

export function merchantIn({
  merchantId,
  merchantName,
  environment,
}: {
  merchantId: string;
  merchantName: string | null;
  environment: Environment;
}) {
  return [merchantLink(merchantId, merchantName), ' ', environmentTag(environment)];
}

/** @param field another name where a page has several forms */
export const reasonField = (
  about: string,
  field: { name?: string; label?: string; maxLength?: number } = {},
) =>
  textArea({
    name: 'reason',
    label: 'Reason',
    hint: about,
    required: true,
    maxLength: 1000,
    ...field,
  });

const DONE = {
  retry: 'The call to the gateway is being retried. Its result is below.',
  recover: 'The order is being compared with its workflow.',
  dispute: 'The dispute is raised for the buyer.',
  refund: 'The refund has begun. The order becomes REFUNDED when the gateway has refunded.',
  decide: 'The dispute is decided.',
  alert: 'The alert is cleared.',
  delivered: 'The webhook was delivered.',
  refused: 'The endpoint did not accept the webhook: its last answer is below.',
  started: 'The webhook is being sent. Its result will be below.',
} as const;

/** A code in the query of the page that is shown after a change. */
export type DoneCode = keyof typeof DONE;

export const actionNotice = (code: string | undefined) => doneNotice(DONE, code);

export function moreNote(hasMore: boolean, to: ComponentChildren = null) {
  return hasMore && hint('There are more. ', to);
}

/** A link to a part that is beside the others on a wide screen, and below them on a narrow one. */
export function jumpTo(id: string, text: string) {
  return h('a', { class: 'button jump', href: `#${id}` }, text);
}

export interface OperatorPageDeps extends ProposalDeps, AmountRule {
  inspector: WorkflowInspector;
  retries: DeliveryRetries;
  temporalNamespace: string;
  /** The URL of Temporal's Web UI; without it workflows are named, but not linked. */
  temporalUiUrl?: string | undefined;
}

export const ROWS_PER_PAGE = 25;

export type MerchantReviewDeps = Omit<OnboardingDeps & ReviewDeps, 'actor'> & ProposalDeps;

export function merchantPath(merchantId: string, below = ''): string {
  return `/operator/merchants/${encodeURIComponent(merchantId)}${below}`;
}
