import type { ErrorCode } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import type { CheckoutContext } from './context.ts';
import { redirectToPage, checkoutOf, formRoute, html, seeOther, show } from './context.ts';
import type { PageLanguage } from './language.ts';
import { languageOf } from './language.ts';
import { assertSameOrigin } from '../pages/same-origin.ts';
import { keepBuyerLanguage } from './queries.ts';
import type { CheckoutState } from './state.ts';
import { stateOf } from './state.ts';

/** The states in which the button of an outdated page may still open a session. */
const PAYABLE: readonly CheckoutState[] = ['payable', 'waiting', 'session_expired'];

/** Opening a session at the gateway takes up to 10 s, and may wait for another request doing so. */
const RESPONSE_TIMEOUT_MS = 18_000;

/** Declares the form whose button opens a payment session, or shows the one that is open. */
export function payRoute(context: CheckoutContext): Route {
  return defineRoute({
    ...formRoute(context),
    path: '/pay/{token}/sessions',
    operationId: 'openCheckoutSession',
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    responses: { 303: seeOther, 400: html, 403: html, 502: html },
  }).handledBy(async ({ params, ...request }) => {
    assertSameOrigin(request.headers);
    const language = languageOf(request);
    const checkout = await checkoutOf(context, params.token);
    const state = stateOf(checkout);
    if (state === 'merchant_unavailable') return show(context, 403, checkout, language);
    if (!PAYABLE.includes(state)) return redirectToPage(context, params.token, language);
    await keepBuyerLanguage(context.sql, checkout.order, language.texts.language);
    try {
      await context.openSession(checkout.order);
    } catch (error) {
      return showOpenFailure(context, params.token, language, error);
    }
    return redirectToPage(context, params.token, language);
  });
}

const EXPECTED: readonly ErrorCode[] = [
  'INVALID_STATE',
  'GATEWAY_UNAVAILABLE',
  'PAYMENTS_NOT_AVAILABLE',
  'MERCHANT_NOT_ACTIVE',
];

/** Renders why no session was opened: the gateway, the number of sessions, the merchant or the order's state. */
async function showOpenFailure(
  context: CheckoutContext,
  token: string,
  language: PageLanguage,
  error: unknown,
) {
  const code = error instanceof DomainError ? error.code : undefined;
  if (code === undefined || !EXPECTED.includes(code)) throw error;
  const checkout = await checkoutOf(context, token);
  if (!PAYABLE.includes(stateOf(checkout))) return redirectToPage(context, token, language);
  if (code === 'INVALID_STATE')
    return show(context, 400, checkout, language, { problem: 'no_more_sessions' });
  const problem = code === 'GATEWAY_UNAVAILABLE' ? 'gateway_unavailable' : 'payments_not_available';
  return show(context, 502, checkout, language, { problem });
}
