import { z } from 'zod';
import type { Actor } from '../db/actor.ts';
import type { Sql } from '../db/client.ts';
import type { Page } from '../http/define-route.ts';
import type { ErrorReply } from '../http/responses/errors.ts';
import { errorOf } from '../http/responses/errors.ts';
import type { RateLimiter } from '../http/limits/rate-limit.ts';
import { addRequestFields, requestFields } from '../http/request-context.ts';
import type { OrderRow } from '../orders/public.ts';
import type { FormFeedback } from './pages/checkout-page.ts';
import { checkoutPage } from './pages/checkout-page.ts';
import type { Files } from './pages/layout.ts';
import { formHeaders } from '../pages/same-origin.ts';
import { refusalPage } from './pages/refusal-page.ts';
import type { Checkout } from './queries.ts';
import { findCheckout } from './queries.ts';

/** The dependencies of the buyer's pages; operations of other features are passed as functions. */
export interface CheckoutDeps {
  sql: Sql;
  /** The URL under which buyers reach the service; it may have a path. */
  publicBaseUrl: string;
  /** Named on the error pages; undefined if none is set. */
  supportEmail: string | undefined;
  /** The rate limit of the buyer's pages, which is higher: many buyers may share one IP address. */
  rateLimiter: RateLimiter;
  /**
   * Opens a payment session, or returns the open one.
   *
   * @throws DomainError `INVALID_STATE`, `GATEWAY_UNAVAILABLE`, `PAYMENTS_NOT_AVAILABLE`, and
   *   `TOO_MANY_REQUESTS` while too many requests of the merchant wait for the gateway
   */
  openSession(order: OrderRow): Promise<unknown>;
  /**
   * Asks the gateway for the state of a session, and records it when it has ended.
   *
   * @throws DomainError `TOO_MANY_REQUESTS` while too many requests of the merchant wait for the gateway
   */
  refreshSession(order: OrderRow, sessionId: string): Promise<unknown>;
  /**
   * Raises a dispute for the buyer; once for each `commandId`.
   *
   * @throws DomainError `INVALID_STATE`
   */
  raiseDispute(dispute: {
    order: OrderRow;
    commandId: string;
    reason: string;
    actor: Actor;
  }): Promise<unknown>;
}

/** Allows resources of this origin only, and nothing inline. */
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

/** What every route of the buyer's page needs. */
export interface CheckoutContext extends CheckoutDeps {
  files: Files;
  basePath: string;
}

/** The declaration of a response with a page. */
export const html = {
  description: 'The page',
  contentType: 'text/html',
  schema: z.string(),
} as const;
/** The declaration of the redirect to the page after a form was accepted. */
export const seeOther = { ...html, description: 'Back to the page' } as const;

/** The part of a declaration that all routes of one order share. */
export function buyerRoute({ rateLimiter }: CheckoutContext) {
  return {
    base: 'root',
    caller: 'public',
    tags: ['Buyer pages'],
    description: 'For the buyer who has the payment link.',
    params: z.object({ token: z.string() }),
    errors: ['NOT_FOUND'],
    rateLimiter,
  } as const;
}

/** The same for a route whose errors are shown to the buyer as a page. */
export function htmlRoute(context: CheckoutContext) {
  const { supportEmail } = context;
  return {
    ...buyerRoute(context),
    refusalPage: (refusal: ErrorReply, requestId: string): Page => ({
      contentType: 'text/html',
      body: refusalPage(refusal, { requestId, supportEmail }, context.files),
      headers: { ...refusal.headers, ...PAGE_HEADERS },
    }),
  };
}

/** The same for a form of the page. Its handler calls `assertSameOrigin`. */
export function formRoute(context: CheckoutContext) {
  return {
    ...htmlRoute(context),
    method: 'POST',
    bodyType: 'form',
    headers: formHeaders,
    errors: ['NOT_FOUND', 'ORIGIN_NOT_ALLOWED'],
  } as const;
}

/**
 * Finds the order that a payment link belongs to.
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

/**
 * Renders the page of an order as a response with this status.
 *
 * @param feedback shown beside the state of the order
 */
export function show<Status extends number>(
  { files, basePath, supportEmail }: CheckoutContext,
  status: Status,
  checkout: Checkout,
  feedback?: FormFeedback,
) {
  const page = `${basePath}/${checkout.order.paymentToken}`;
  const links = {
    page,
    sessions: `${page}/sessions`,
    dispute: `${page}/dispute`,
    status: `${page}/status`,
  };
  const { requestId } = requestFields();
  const reference =
    feedback?.problem === undefined || requestId === undefined
      ? undefined
      : { requestId, supportEmail };
  const body = checkoutPage(checkout, links, files, { ...feedback, reference });
  return { status, body, headers: PAGE_HEADERS };
}

/** Redirects to the page with a 303, so that a reload does not submit the form again. */
export function redirectToPage({ basePath }: CheckoutContext, token: string) {
  const page = `${basePath}/${encodeURIComponent(token)}`;
  return { status: 303 as const, body: '', headers: { Location: page } };
}
