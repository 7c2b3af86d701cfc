import { z } from 'zod';
import type { Sql } from '../db/client.ts';
import type { Page } from '../http/define-route.ts';
import type { ErrorReply } from '../http/errors.ts';
import { errorOf } from '../http/errors.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import { addRequestFields, requestFields } from '../http/request-context.ts';
import type { OrderRow } from '../orders/public.ts';
import type { FormFeedback } from './pages/checkout-page.ts';
import { checkoutPage } from './pages/checkout-page.ts';
import type { Files } from './pages/layout.ts';
import { refusalPage } from './pages/refusal-page.ts';
import type { Checkout } from './queries.ts';
import { findCheckout } from './queries.ts';

/** What the buyer's pages are made of; other features come as functions. */
export interface CheckoutDeps {
  sql: Sql;
  /** Under which buyers reach the service; it may have a path. */
  publicBaseUrl: string;
  /** For buyer pages alone: many buyers may share one address. */
  rateLimiter: RateLimiter;
  /** @throws DomainError `INVALID_STATE`, `GATEWAY_UNAVAILABLE`, `PAYMENTS_NOT_AVAILABLE` */
  openSession(order: OrderRow): Promise<unknown>;
  /** Asks the gateway whether the session is still open, and records it when it is not. */
  refreshSession(orderNumber: string, sessionId: string): Promise<unknown>;
  /** @throws DomainError `INVALID_STATE` */
  raiseDispute(order: OrderRow, requestId: string, reason: string): Promise<unknown>;
}

/** Everything from us and nothing inline. */
const PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
};

/** What all of these routes work with. */
export interface CheckoutContext extends CheckoutDeps {
  files: Files;
  basePath: string;
}

/** The answers of these routes: a page, or the way to it. */
export const html = {
  description: 'The page',
  contentType: 'text/html',
  schema: z.string(),
} as const;
/** A form that was taken: see the page. */
export const seeOther = { ...html, description: 'Back to the page' } as const;

/** What the routes of one order have in common. */
export function buyerRoute({ rateLimiter }: CheckoutContext) {
  return {
    base: 'root',
    caller: 'public',
    tags: ['Buyer pages'],
    description: 'For the buyer who was given the link.',
    params: z.object({ token: z.string() }),
    errors: ['NOT_FOUND'],
    rateLimiter,
  } as const;
}

/** A route of which people see the refusals too. */
export function htmlRoute(context: CheckoutContext) {
  return {
    ...buyerRoute(context),
    refusalPage: (refusal: ErrorReply, requestId: string): Page => ({
      contentType: 'text/html',
      body: refusalPage(refusal, requestId, context.files),
      headers: { ...refusal.headers, ...PAGE_HEADERS },
    }),
  };
}

/**
 * The order that a link belongs to.
 *
 * @throws DomainError `NOT_FOUND`
 */
export async function checkoutOf({ sql }: CheckoutContext, token: string): Promise<Checkout> {
  const checkout = await findCheckout(sql, token);
  if (!checkout) throw errorOf('NOT_FOUND');
  const { orderNumber, merchantId } = checkout.order;
  addRequestFields({ orderNumber, merchantId });
  return checkout;
}

/** The page of an order, as an answer of this status. */
export function show<Status extends number>(
  { files, basePath }: CheckoutContext,
  status: Status,
  checkout: Checkout,
  answer?: FormFeedback,
) {
  const page = `${basePath}/${checkout.order.paymentToken}`;
  const links = {
    page,
    sessions: `${page}/sessions`,
    dispute: `${page}/dispute`,
    status: `${page}/status`,
  };
  const reference = answer?.problem === undefined ? undefined : requestFields().requestId;
  const body = checkoutPage(checkout, links, files, { ...answer, reference });
  return { status, body, headers: PAGE_HEADERS };
}

/** See the page: a form that is reloaded after this is not sent again. */
export function redirectToPage({ basePath }: CheckoutContext, token: string) {
  const page = `${basePath}/${encodeURIComponent(token)}`;
  return { status: 303 as const, body: '', headers: { Location: page } };
}
