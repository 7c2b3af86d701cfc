import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DomainError, REFUSALS } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { text } from '../http/input/fields.ts';
import type { CheckoutContext } from './context.ts';
import { redirectToPage, checkoutOf, formRoute, html, seeOther, show } from './context.ts';
import type { FormFeedback } from './pages/checkout-page.ts';
import type { Checkout } from './queries.ts';
import { assertSameOrigin } from '../pages/same-origin.ts';
import { DISPUTE_LIMITS } from '../orders/public.ts';
import { canDispute, stateOf } from './state.ts';

/**
 * Longer than an Update of the order may take, so that an error page can contain the buyer's text.
 */
const RESPONSE_TIMEOUT_MS = 8_000;

/** Declares the form with which a buyer raises a dispute. */
export function disputeRoute(context: CheckoutContext): Route {
  return defineRoute({
    ...formRoute(context),
    path: '/pay/{token}/dispute',
    operationId: 'raiseCheckoutDispute',
    summary: 'Raise a dispute, as the buyer',
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    // The handler validates the text, so that the error page contains it.
    body: z.object({ reason: z.string().default('') }),
    responses: { 303: seeOther, 400: html, 500: html },
  }).handledBy(async ({ params, headers, body, log, clientIp: address }) => {
    assertSameOrigin(headers);
    const checkout = await checkoutOf(context, params.token);
    // A browser sends each line break of a form as CR LF; JSON clients count it as one character.
    const reason = body.reason.replaceAll('\r\n', '\n');
    if (isDuplicate(checkout, reason)) return redirectToPage(context, params.token);
    const refusal = refusalOf(checkout, reason);
    if (refusal) return show(context, 400, checkout, refusal);
    try {
      const commandId = disputeIdOf(checkout, reason);
      // The holder of the payment token is the buyer.
      const actor = { name: 'buyer', address };
      await context.raiseDispute({ order: checkout.order, commandId, reason, actor });
    } catch (error) {
      const now = await checkoutOf(context, params.token);
      if (error instanceof DomainError && error.code === 'INVALID_STATE') {
        return show(context, 400, now, { problem: error.message, draft: { reason } });
      }
      log.error({ err: error }, 'A dispute is recorded, but its order did not respond in time');
      return show(context, 500, now, { problem: NOT_CONFIRMED, draft: { reason } });
    }
    return redirectToPage(context, params.token);
  });
}

const NOT_CONFIRMED =
  'We could not confirm your dispute. Check this page again in a minute, and send it once more ' +
  'if it is not shown by then.';

/** The contract's rule for a buyer's reason. */
const disputeReason = text({
  error: 'must be 10 to 2000 characters and not blank',
  minLength: 10,
  maxLength: 2000,
  notBlank: true,
});

/** True if the same dispute was submitted before, such as by a double click. */
function isDuplicate(checkout: Checkout, reason: string): boolean {
  return stateOf(checkout) === 'disputed' && checkout.order.disputeReason === reason;
}

function refusalOf(checkout: Checkout, reason: string): FormFeedback | undefined {
  if (!canDispute(checkout)) {
    const { disputeLimit } = checkout;
    const problem = disputeLimit === null ? REFUSALS.dispute : DISPUTE_LIMITS[disputeLimit];
    return { problem, draft: { reason } };
  }
  const parsed = disputeReason.safeParse(reason);
  const violation = parsed.error?.issues[0]?.message;
  return violation === undefined ? undefined : { draft: { reason, violation } };
}

/**
 * Equal for the same text in the same dispute, so that concurrent submissions raise one dispute.
 */
function disputeIdOf({ order }: Checkout, reason: string): string {
  const hash = createHash('sha256').update(reason).digest('base64url').slice(0, 16);
  return `page-dispute:${order.disputeCount + 1}:${hash}`;
}
