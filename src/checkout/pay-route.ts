import { DomainError } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import type { Desk } from './desk.ts';
import { backToPage, checkoutOf, html, htmlRoute, seePage, show } from './desk.ts';
import { assertSameOrigin, formHeaders } from './same-origin.ts';
import type { CheckoutState } from './state.ts';
import { stateOf } from './state.ts';

/** States in which the button of an old page may still find something to pay. */
const PAYABLE: readonly CheckoutState[] = ['payable', 'waiting', 'session_expired'];

/** The gateway has 10 s to open a session, and another request may be at it just before. */
const ANSWER_WITHIN_MS = 18_000;

/** The button that opens a payment session, or finds the one that is open. */
export function payRoute(desk: Desk): Route {
  return defineRoute({
    ...htmlRoute(desk),
    method: 'POST',
    path: '/pay/{token}/sessions',
    operationId: 'openCheckoutSession',
    summary: 'Open a payment session, as the buyer',
    bodyType: 'form',
    headers: formHeaders,
    answerWithinMs: ANSWER_WITHIN_MS,
    responses: { 303: seePage, 400: html, 403: html, 502: html },
    errors: ['NOT_FOUND', 'ORIGIN_NOT_ALLOWED'],
  }).handledBy(async ({ params, headers }) => {
    assertSameOrigin(headers);
    const checkout = await checkoutOf(desk, params.token);
    const state = stateOf(checkout);
    if (state === 'merchant_unavailable') return show(desk, 403, checkout);
    if (!PAYABLE.includes(state)) return backToPage(desk, params.token);
    try {
      await desk.openSession(checkout.order);
    } catch (error) {
      return notOpened(desk, params.token, error);
    }
    return backToPage(desk, params.token);
  });
}

const NO_MORE_SESSIONS =
  'No further payment can be started for this order. Ask the merchant for a new link.';
const GATEWAY_AWAY =
  'The UPI payment system cannot be reached at the moment. Try again in a few minutes.';
const NOT_AVAILABLE = 'This merchant cannot take payments yet. Ask the merchant how to pay.';

/** A session is refused by the gateway, for the number of tries, or because the order moved on. */
async function notOpened(desk: Desk, token: string, error: unknown) {
  const code = error instanceof DomainError ? error.code : undefined;
  const isExpected =
    code === 'INVALID_STATE' || code === 'GATEWAY_UNAVAILABLE' || code === 'PAYMENTS_NOT_AVAILABLE';
  if (!isExpected) throw error;
  const checkout = await checkoutOf(desk, token);
  if (!PAYABLE.includes(stateOf(checkout))) return backToPage(desk, token);
  if (code === 'INVALID_STATE') return show(desk, 400, checkout, { problem: NO_MORE_SESSIONS });
  const problem = code === 'GATEWAY_UNAVAILABLE' ? GATEWAY_AWAY : NOT_AVAILABLE;
  return show(desk, 502, checkout, { problem });
}
