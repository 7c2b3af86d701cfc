import { z } from 'zod';
import type { Actor } from '../db/actor.ts';
import type { Sql } from '../db/client.ts';
import { transitionOf } from '../domain/index.ts';
import type { Page, RefusedInput } from '../http/define-route.ts';
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
import type { PageLanguage } from './language.ts';
import { languageInput, languageOf } from './language.ts';
import type { Checkout } from './queries.ts';
import { findCheckout } from './queries.ts';

/** The dependencies of the buyer's pages. Operations of other features are passed as functions. */
export interface CheckoutDeps {
  sql: Sql;
  /** The URL under which buyers reach the service; it may have a path. */
  publicBaseUrl: string;
  /** Named on the error pages; undefined if none is set. */
  supportEmail: string | undefined;
  /**
   * The rate limit of the buyer's pages. It is higher than the API's, because many buyers may share one IP address.
   */
  rateLimiter: RateLimiter;
  /** Whether the order's gateway is configured, so that it can be paid. If it is not, an alert is raised. */
  hasGateway(order: OrderRow): Promise<boolean>;
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
    orderNumber: string;
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
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
};

export interface CheckoutContext extends CheckoutDeps {
  files: Files;
  basePath: string;
}

export const html = {
  description: 'The page',
  contentType: 'text/html',
  schema: z.string(),
} as const;
export const seeOther = { ...html, description: 'Back to the page' } as const;

/** The part of a declaration that all routes of one order share: for the buyer who has the payment link. */
export function buyerRoute({ rateLimiter }: CheckoutContext) {
  return {
    base: 'root',
    params: z.object({ token: z.string() }),
    errors: ['NOT_FOUND'],
    rateLimiter,
  } as const;
}

const typedReason = z.object({ reason: z.string().catch('') }).catch({ reason: '' });

type PageInput = Parameters<typeof languageOf>[0];

/** The same, for routes whose errors are shown to the buyer as a page. */
export function htmlRoute(context: CheckoutContext) {
  const { supportEmail } = context;
  return {
    ...buyerRoute(context),
    ...languageInput,
    refusalPage: (
      refusal: ErrorReply,
      requestId: string,
      input: PageInput & Partial<RefusedInput>,
    ): Page => ({
      contentType: 'text/html',
      body: refusalPage(
        refusal,
        { requestId, supportEmail },
        context.files,
        languageOf(input).texts,
        typedReason.parse(input.body).reason,
      ),
      headers: { ...refusal.headers, ...PAGE_HEADERS },
    }),
  };
}

/** The same, for forms of the page. The handler calls `assertSameOrigin`. */
export function formRoute(context: CheckoutContext) {
  return {
    ...htmlRoute(context),
    method: 'POST',
    bodyType: 'form',
    headers: formHeaders.extend(languageInput.headers.shape),
    errors: ['NOT_FOUND', 'ORIGIN_NOT_ALLOWED'],
  } as const;
}

/**
 * Finds the order that a payment link belongs to.
 *
 * @throws DomainError `NOT_FOUND`
 */
export async function checkoutOf(context: CheckoutContext, token: string): Promise<Checkout> {
  const checkout = await findCheckout(context.sql, token);
  if (!checkout) throw errorOf('NOT_FOUND');
  const { order, takesPayments } = checkout;
  const { orderNumber, merchantId } = order;
  addRequestFields({ orderNumber, merchantId });
  if (!takesPayments || !transitionOf(order, 'pay')) return checkout;
  return { ...checkout, takesPayments: await context.hasGateway(order) };
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
  { texts, query }: PageLanguage,
  feedback?: FormFeedback,
) {
  const path = `${basePath}/${checkout.order.paymentToken}`;
  const links = {
    path,
    page: path + query,
    sessions: `${path}/sessions${query}`,
    dispute: `${path}/dispute${query}`,
    status: `${path}/status`,
  };
  const { requestId } = requestFields();
  const reference =
    feedback?.problem === undefined || requestId === undefined
      ? undefined
      : { requestId, supportEmail };
  const body = checkoutPage(checkout, links, files, texts, { ...feedback, reference });
  return { status, body, headers: PAGE_HEADERS };
}

/** Redirects to the page with a 303, so that a reload does not submit the form again. */
export function redirectToPage(
  { basePath }: CheckoutContext,
  token: string,
  { query }: PageLanguage,
) {
  const page = `${basePath}/${encodeURIComponent(token)}${query}`;
  return { status: 303 as const, body: '', headers: { Location: page } };
}
