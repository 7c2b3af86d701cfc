import { z } from 'zod';
import { DomainError } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import type { CheckoutDeps, CheckoutContext } from './context.ts';
import {
  redirectToPage,
  buyerRoute,
  checkoutOf,
  html,
  htmlRoute,
  seeOther,
  show,
} from './context.ts';
import { disputeRoute } from './dispute-route.ts';
import { createFiles } from './files.ts';
import { languageOf } from './language.ts';
import { payRoute } from './pay-route.ts';
import type { Checkout } from './queries.ts';
import { stateOf, versionOf } from './state.ts';

/** Declares the buyer's page of an order, its forms (pay, raise a dispute) and its files. */
export function checkoutRoutes(deps: CheckoutDeps): Route[] {
  const pathPrefix = new URL(deps.publicBaseUrl).pathname.replace(/\/$/, '');
  const { files, routes } = createFiles(pathPrefix);
  const context: CheckoutContext = { ...deps, files, basePath: `${pathPrefix}/pay` };
  return [
    pageRoute(context),
    statusRoute(context),
    payRoute(context),
    disputeRoute(context),
    ...['sessions', 'dispute'].map((form) => redirectRoute(context, form)),
    ...routes,
  ];
}

function pageRoute(context: CheckoutContext): Route {
  return defineRoute({
    ...htmlRoute(context),
    method: 'GET',
    path: '/pay/{token}',
    operationId: 'showCheckout',
    responses: { 200: html, 408: { ...html, description: 'The payment session has expired' } },
  }).handledBy(async ({ params, ...request }) => {
    const checkout = await refreshOpenSession(context, await checkoutOf(context, params.token));
    const language = languageOf(request);
    return stateOf(checkout) === 'session_expired'
      ? show(context, 408, checkout, language)
      : show(context, 200, checkout, language);
  });
}

/** Refreshes an open session, so that the page shows no QR code that the gateway has closed. */
async function refreshOpenSession(context: CheckoutContext, checkout: Checkout): Promise<Checkout> {
  const { order, session } = checkout;
  if (stateOf(checkout) !== 'waiting' || session === null) return checkout;
  try {
    await context.refreshSession(order, session.sessionId);
  } catch (error) {
    // The page then shows the recorded state, and the browser asks again later.
    if (!(error instanceof DomainError) || error.code !== 'TOO_MANY_REQUESTS') throw error;
  }
  return checkoutOf(context, order.paymentToken);
}

function statusRoute(context: CheckoutContext): Route {
  return defineRoute({
    ...buyerRoute(context),
    method: 'GET',
    path: '/pay/{token}/status',
    operationId: 'getCheckoutStatus',
    responses: {
      200: {
        description: 'Its state',
        schema: z.object({ state: z.string(), version: z.string() }),
      },
    },
  }).handledBy(async ({ params }) => {
    const checkout = await checkoutOf(context, params.token);
    return { status: 200, body: { state: stateOf(checkout), version: versionOf(checkout) } };
  });
}

/** Redirects a GET of a form's URL, such as from the browser's history, to the page. */
function redirectRoute(context: CheckoutContext, form: string): Route {
  return defineRoute({
    ...htmlRoute(context),
    method: 'GET',
    path: `/pay/{token}/${form}`,
    operationId: `backTo ${form}`,
    responses: { 303: seeOther },
  }).handledBy(async ({ params, ...request }) =>
    redirectToPage(context, params.token, languageOf(request)),
  );
}
