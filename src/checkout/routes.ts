import { z } from 'zod';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import type { CheckoutDeps, Desk } from './desk.ts';
import { backToPage, buyerRoute, checkoutOf, html, htmlRoute, seePage, show } from './desk.ts';
import { disputeRoute } from './dispute-route.ts';
import { createFiles } from './files.ts';
import { payRoute } from './pay-route.ts';
import type { Checkout } from './queries.ts';
import { stateOf, versionOf } from './state.ts';

/** The buyer's page of an order, and what can be done on it: pay, and raise a dispute. */
export function checkoutRoutes(deps: CheckoutDeps): Route[] {
  const pathPrefix = new URL(deps.publicBaseUrl).pathname.replace(/\/+$/, '');
  const { files, routes } = createFiles(pathPrefix);
  const desk: Desk = { ...deps, files, basePath: `${pathPrefix}/pay` };
  return [
    pageRoute(desk),
    statusRoute(desk),
    payRoute(desk),
    disputeRoute(desk),
    ...['sessions', 'dispute'].map((form) => backRoute(desk, form)),
    ...routes,
  ];
}

function pageRoute(desk: Desk): Route {
  return defineRoute({
    ...htmlRoute(desk),
    method: 'GET',
    path: '/pay/{token}',
    operationId: 'showCheckout',
    summary: "The buyer's page",
    responses: { 200: html, 408: { ...html, description: 'The payment session has expired' } },
  }).handledBy(async ({ params }) => {
    const checkout = await lookAgain(desk, await checkoutOf(desk, params.token));
    return stateOf(checkout) === 'session_expired'
      ? show(desk, 408, checkout)
      : show(desk, 200, checkout);
  });
}

/** A QR code that the gateway has closed is not shown. */
async function lookAgain(desk: Desk, checkout: Checkout): Promise<Checkout> {
  const { order, session } = checkout;
  if (stateOf(checkout) !== 'waiting' || session === null) return checkout;
  await desk.lookAtSession(order.orderNumber, session.sessionId);
  return checkoutOf(desk, order.paymentToken);
}

function statusRoute(desk: Desk): Route {
  return defineRoute({
    ...buyerRoute(desk),
    method: 'GET',
    path: '/pay/{token}/status',
    operationId: 'getCheckoutStatus',
    summary: 'Whether the page has changed',
    responses: {
      200: {
        description: 'Its state',
        schema: z.object({ state: z.string(), version: z.string() }),
      },
    },
  }).handledBy(async ({ params }) => {
    const checkout = await checkoutOf(desk, params.token);
    return { status: 200, body: { state: stateOf(checkout), version: versionOf(checkout) } };
  });
}

/** Whoever opens the address of a form, from the browser's history for example, gets the page. */
function backRoute(desk: Desk, form: string): Route {
  return defineRoute({
    ...htmlRoute(desk),
    method: 'GET',
    path: `/pay/{token}/${form}`,
    operationId: `backTo ${form}`,
    summary: 'Back to the page',
    responses: { 303: seePage },
  }).handledBy(async ({ params }) => backToPage(desk, params.token));
}
