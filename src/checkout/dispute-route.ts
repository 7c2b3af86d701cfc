import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DomainError, REFUSALS } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { text } from '../http/fields.ts';
import type { CheckoutContext } from './context.ts';
import { redirectToPage, checkoutOf, html, htmlRoute, seeOther, show } from './context.ts';
import type { FormFeedback } from './pages/checkout-page.ts';
import type { Checkout } from './queries.ts';
import { assertSameOrigin, formHeaders } from './same-origin.ts';
import { canDispute, stateOf } from './state.ts';

/** Longer than an order may take to answer, so that the buyer's text can come back. */
const RESPONSE_TIMEOUT_MS = 8_000;

/** The form by which a buyer raises a dispute. */
export function disputeRoute(context: CheckoutContext): Route {
  return defineRoute({
    ...htmlRoute(context),
    method: 'POST',
    path: '/pay/{token}/dispute',
    operationId: 'raiseCheckoutDispute',
    summary: 'Raise a dispute, as the buyer',
    headers: formHeaders,
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    bodyType: 'form',
    // The rule of the text is asked by the handler, so that the text comes back with the answer.
    body: z.object({ reason: z.string().default('') }),
    responses: { 303: seeOther, 400: html, 500: html },
    errors: ['NOT_FOUND', 'ORIGIN_NOT_ALLOWED'],
  }).handledBy(async ({ params, headers, body, log }) => {
    assertSameOrigin(headers);
    const checkout = await checkoutOf(context, params.token);
    // A browser sends each line break of a form as two characters.
    const reason = body.reason.replaceAll('\r\n', '\n');
    if (isDuplicate(checkout, reason)) return redirectToPage(context, params.token);
    const refusal = refusalOf(checkout, reason);
    if (refusal) return show(context, 400, checkout, refusal);
    try {
      await context.raiseDispute(checkout.order, disputeIdOf(checkout, reason), reason);
    } catch (error) {
      const now = await checkoutOf(context, params.token);
      if (error instanceof DomainError && error.code === 'INVALID_STATE') {
        return show(context, 400, now, { problem: error.message, draft: { reason } });
      }
      log.error({ err: error }, 'A dispute is written down, but its order did not answer');
      return show(context, 500, now, { problem: NOT_CONFIRMED, draft: { reason } });
    }
    return redirectToPage(context, params.token);
  });
}

const NOT_CONFIRMED =
  'We could not confirm your dispute. Check this page again in a minute, and send it once more ' +
  'if it is not shown by then.';

/** The contract's rule for a buyer's dispute, and its violation message. */
const disputeReason = text({
  error: 'must be 10 to 2000 characters and not blank',
  minLength: 10,
  maxLength: 2000,
  notBlank: true,
});

/** The same dispute, sent twice by an impatient finger. */
function isDuplicate(checkout: Checkout, reason: string): boolean {
  return stateOf(checkout) === 'disputed' && checkout.order.disputeReason === reason;
}

function refusalOf(checkout: Checkout, reason: string): FormFeedback | undefined {
  if (!canDispute(stateOf(checkout))) return { problem: REFUSALS.dispute, draft: { reason } };
  const parsed = disputeReason.safeParse(reason);
  const violation = parsed.error?.issues[0]?.message;
  return violation === undefined ? undefined : { draft: { reason, violation } };
}

/** Equal for the same text in the same dispute, so that two sendings at once are one. */
function disputeIdOf({ order }: Checkout, reason: string): string {
  const hash = createHash('sha256').update(reason).digest('base64url').slice(0, 16);
  return `page-dispute:${order.disputeCount + 1}:${hash}`;
}
