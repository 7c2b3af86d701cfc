import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { disputeSchema } from '../orders/public.ts';
import type { CheckoutContext } from './context.ts';
import { redirectToPage, checkoutOf, formRoute, html, seeOther, show } from './context.ts';
import { languageOf } from './language.ts';
import type { FormFeedback } from './pages/checkout-page.ts';
import type { Checkout } from './queries.ts';
import { keepBuyerLanguage } from './queries.ts';
import { assertSameOrigin } from '../pages/same-origin.ts';
import { canDispute, stateOf } from './state.ts';

/** Longer than an Update of the order may take, so that the buyer gets an error page that contains their text. */
const RESPONSE_TIMEOUT_MS = 8_000;

/** Declares the form with which a buyer raises a dispute. */
export function disputeRoute(context: CheckoutContext): Route {
  return defineRoute({
    ...formRoute(context),
    path: '/pay/{token}/dispute',
    operationId: 'raiseCheckoutDispute',
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    // The handler validates the text, so that the error page contains it.
    body: z.object({ reason: z.string().default('') }),
    responses: { 303: seeOther, 400: html, 500: html },
  }).handledBy(async ({ params, body, log, clientIp: address, ...request }) => {
    assertSameOrigin(request.headers);
    const language = languageOf(request);
    const checkout = await checkoutOf(context, params.token);
    const { reason } = body;
    if (isDuplicate(checkout, reason)) return redirectToPage(context, params.token, language);
    const refusal = refusalOf(checkout, reason);
    if (refusal) return show(context, 400, checkout, language, refusal);
    await keepBuyerLanguage(context.sql, checkout.order, language.texts.language);
    try {
      const commandId = disputeIdOf(checkout, reason);
      // The holder of the payment token is the buyer.
      const actor = { name: 'buyer', address };
      const { orderNumber } = checkout.order;
      await context.raiseDispute({ orderNumber, commandId, reason, actor });
    } catch (error) {
      const now = await checkoutOf(context, params.token);
      if (error instanceof DomainError && error.code === 'INVALID_STATE') {
        return show(context, 400, now, language, { problem: problemOf(now), draft: { reason } });
      }
      log.error({ err: error }, 'A dispute is recorded, but its order did not respond in time');
      return show(context, 500, now, language, {
        problem: 'dispute_not_confirmed',
        draft: { reason },
      });
    }
    return redirectToPage(context, params.token, language);
  });
}

/** True if the same dispute was submitted before, such as by a double click. */
function isDuplicate(checkout: Checkout, reason: string): boolean {
  return stateOf(checkout) === 'disputed' && checkout.order.disputeReason === reason;
}

function refusalOf(checkout: Checkout, reason: string): FormFeedback | undefined {
  if (!canDispute(checkout)) return { problem: problemOf(checkout), draft: { reason } };
  const { success } = disputeSchema.safeParse({ reason });
  return success ? undefined : { draft: { reason, isInvalid: true } };
}

/** Returns why the buyer can raise no dispute. */
function problemOf({ disputeLimit }: Checkout) {
  return disputeLimit === null ? 'dispute_refused' : (`dispute_${disputeLimit}` as const);
}

/** The same text in the same dispute has the same id, so that concurrent submissions raise one dispute. */
function disputeIdOf({ order }: Checkout, reason: string): string {
  const hash = createHash('sha256').update(reason).digest('base64url').slice(0, 16);
  return `page-dispute:${order.disputeCount + 1}:${hash}`;
}
