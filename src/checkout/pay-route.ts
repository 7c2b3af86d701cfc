import { DomainError } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { ERRORS } from '../http/errors.ts';
import type { Desk } from './desk.ts';
import { backToPage, checkoutOf, html, htmlRoute, seePage, show } from './desk.ts';
import { assertSameOrigin, formHeaders } from './same-origin.ts';
import type { CheckoutState } from './state.ts';
import { stateOf } from './state.ts';

/** States in which the button of an old page may still find something to pay. */
const PAYABLE: readonly CheckoutState[] = ['payable', 'waiting', 'session_expired'];

/** The button that opens a payment session, or finds the one that is open. */
export function payRoute(desk: Desk): Route {
  return defineRoute({
    ...htmlRoute(desk),
    method: 'POST',
    path: '/pay/{token}/sessions',
    operationId: 'openCheckoutSession',
    summary: 'Open a payment session, as the buyer',
    headers: formHeaders,
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
      if (!(error instanceof DomainError)) throw error;
      const now = await checkoutOf(desk, params.token);
      return show(desk, statusOf(error), now, { problem: PROBLEMS[statusOf(error)] });
    }
    return backToPage(desk, params.token);
  });
}

/** A session is refused for the order's state and its number of tries, or by the gateway. */
const statusOf = ({ code }: DomainError) => (ERRORS[code].status === 502 ? 502 : 400);

const PROBLEMS = {
  400: 'No further payment can be started for this order. Ask the merchant for a new link.',
  502: 'The UPI payment system cannot be reached at the moment. Try again in a few minutes.',
} as const;
