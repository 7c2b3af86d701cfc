import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { SignedInUser, TypedForm } from '../accounts/public.ts';
import { DomainError } from '../domain/index.ts';
import type { Page, RefusedInput, Route } from '../http/define-route.ts';
import type { ErrorReply } from '../http/responses/errors.ts';
import { ERRORS, HttpRefusal, ValidationError } from '../http/responses/errors.ts';
import { formHeaders, isOwnForm } from '../pages/same-origin.ts';
import type { PageContext } from './context.ts';
import { refusalView, typedFields, typedTexts } from './refusal.ts';
import type { Layout, View } from './view/layout.ts';
import type { ShownAgain } from './view/typed.ts';
import { renderView } from './view/layout.ts';
import type { Place } from './viewer.ts';
import { frameOf, RedirectFirst } from './viewer.ts';

const html = { description: 'A page', contentType: 'text/html', schema: z.unknown() } as const;

const STATUSES = [200, 303, 400, 401, 403, 404, 405, 408, 413, 429, 431, 500, 502] as const;
type Status = (typeof STATUSES)[number];

export const RESPONSES = Object.fromEntries(STATUSES.map((status) => [status, html])) as Record<
  Status,
  typeof html
>;

export interface PageResponse {
  readonly status: Status;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
}

export type PageReply = {
  /** The text of a Set-Cookie header: see `cookieText`. */
  readonly setCookie?: string | undefined;
} & (
  | {
      readonly view: View;
      readonly status?: 200 | 400 | 404;
      /** The page has files of this service inside it. */
      readonly embedsFiles?: boolean;
    }
  /** After a change: the browser reads this path, so that a reload does not repeat the change. */
  | { readonly seeOther: string }
  | { readonly json: unknown }
  | {
      readonly file: Buffer | string | Readable;
      readonly contentType: string;
      readonly headers: Readonly<Record<string, string>>;
    }
);

export interface Rendering {
  readonly context: PageContext;
  readonly place: Place;
  readonly user: SignedInUser | undefined;
  /** What was typed into a form of the page that was refused. */
  readonly again?: ShownAgain | undefined;
}

function securityHeaders(nonce: string, embedsFiles = false) {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      "img-src 'self'",
      "font-src 'self'",
      "connect-src 'self'",
      ...(embedsFiles ? ["object-src 'self'"] : []),
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    // Browsers without Sec-Fetch-Site then name the origin of a form; other sites get no URL.
    'Referrer-Policy': 'same-origin',
  };
}

async function renderReply(
  { context, place, user, again }: Rendering,
  view: View,
  { status, embedsFiles }: { status: PageResponse['status']; embedsFiles?: boolean | undefined },
): Promise<PageResponse & { headers: Readonly<Record<string, string>> }> {
  const frame = frameOf(user, place);
  const nonce = randomBytes(16).toString('base64');
  const banners =
    frame.kind === 'merchant' && user?.merchantId
      ? await context.readBanners(user.merchantId, frame.environment)
      : null;
  const { files, pathPrefix } = context;
  const layout = { frame, files, nonce, pathPrefix, path: place.path, banners, again };
  const body = renderWithTyped(view, layout);
  return { status, body, headers: securityHeaders(nonce, embedsFiles) };
}

/**
 * A page that does not say why its form was refused has a notice above it, and one that has no such form any more shows
 * its texts instead.
 */
function renderWithTyped(view: View, layout: Layout): string {
  const body = renderView(view, layout);
  const { again } = layout;
  if (again?.refusal && !again.isSaid) {
    const noticed = { ...again, refusal: undefined, isShown: false };
    return renderWithTyped(view, { ...layout, again: noticed });
  }
  if (!again || again.isShown || again.refusal) return body;
  const content = [typedTexts(again.form.fields), view.content];
  return renderView({ ...view, content }, layout);
}

/**
 * A path may contain what a request named, such as the page to return to. Browsers take `//host` and
 * `/\\host` for another site, and ignore tabs and line feeds.
 *
 * @throws Error if it may lead to another site
 */
function assertOwnPath(path: string): void {
  if (!/^\/(?:[!-.0-[\]-~][!-~]*)?$/.test(path))
    throw new Error('A redirect must stay on this site');
}

/** Sends the browser to a path of this service. */
export function redirectTo({ pathPrefix }: PageContext, path: string): PageResponse {
  assertOwnPath(path);
  return { status: 303, body: '', headers: { Location: pathPrefix + path } };
}

export async function responseOf(rendering: Rendering, reply: PageReply): Promise<PageResponse> {
  const cookie = reply.setCookie === undefined ? {} : { 'Set-Cookie': reply.setCookie };
  if ('view' in reply) {
    const { view, status = 200, embedsFiles } = reply;
    const rendered = await renderReply(rendering, view, { status, embedsFiles });
    return { ...rendered, headers: { ...rendered.headers, ...cookie } };
  }
  if ('seeOther' in reply) {
    const redirect = redirectTo(rendering.context, reply.seeOther);
    return { ...redirect, headers: { ...redirect.headers, ...cookie } };
  }
  if ('json' in reply) {
    return { status: 200, body: JSON.stringify(reply.json), contentType: 'application/json' };
  }
  const { file, contentType, headers } = reply;
  if (file instanceof Readable) {
    const { user, context } = rendering;
    // The users of a merchant share its slots.
    context.downloads.take(user?.merchantId ?? user?.userId ?? '', file);
  }
  return { status: 200, body: file, contentType, headers };
}

/** A refused request with what was typed; without fields if it is no form. */
export interface RefusedForm {
  readonly rendering: Rendering;
  readonly error: unknown;
  readonly requestId: string;
  readonly form: TypedForm;
  /** The path of the page that has the form. */
  readonly formPath: string;
}

/**
 * The page of an error that the reader can understand, with what was typed.
 *
 * @throws the error if it is none of these
 */
export async function refusalOf({
  rendering,
  error,
  requestId,
  form: { fields: typed },
}: RefusedForm): Promise<PageResponse> {
  if (error instanceof RedirectFirst) return responseOf(rendering, { seeOther: error.to });
  if (!(error instanceof DomainError)) throw error;
  const { status } = ERRORS[error.code];
  const reference = { requestId, supportEmail: rendering.context.supportEmail };
  const message = messageOf(error);
  const view = refusalView({ status, message, reference, start: '/dashboard', typed });
  const rendered = await renderReply(rendering, view, { status });
  const more = error instanceof HttpRefusal ? error.headers : {};
  return { ...rendered, headers: { ...rendered.headers, ...more } };
}

export function messageOf(error: DomainError): string {
  if (!(error instanceof ValidationError)) return error.message;
  const violations = Object.entries(error.validationErrors).map(
    ([name, text]) => `${name} ${text}`,
  );
  return `${error.message}: ${violations.join('; ')}`;
}

/** The page of an error before the session was read, such as a damaged form. */
export function signedOutRefusal(
  { files, pathPrefix, supportEmail, publicBaseUrl }: PageContext,
  bodyType: Route['bodyType'],
  { status, body, headers }: ErrorReply,
  requestId: string,
  { path: action, body: form, headers: sent }: Partial<RefusedInput> = {},
): Page {
  const nonce = randomBytes(16).toString('base64');
  // The body of a 429 has the message as its error: see src/http/responses/errors.ts.
  const message = String(body['message'] ?? body['error']);
  const reference = { requestId, supportEmail };
  const typed = typedFields(form);
  // A form of another site is shown without a button: one press would send it as a form of this site.
  // One with a file cannot be sent again without it.
  const isOwn = bodyType !== 'multipart' && isOwnForm(formHeaders.parse(sent ?? {}), publicBaseUrl);
  const canSendAgain = isOwn && (status === 408 || status === 429 || status === 500);
  const view = refusalView({
    status,
    message,
    reference,
    start: '/',
    typed,
    ...(canSendAgain && { action }),
  });
  const frame = { kind: 'signedOut' } as const;
  return {
    contentType: 'text/html',
    body: renderView(view, { frame, files, nonce, pathPrefix, path: '', banners: null }),
    headers: { ...headers, ...securityHeaders(nonce) },
  };
}

/**
 * A cookie with SameSite=Strict is not sent when a link in a mail is followed. This page makes the
 * browser load the address once more, as a request of this site.
 */
export const RELOAD: PageResponse = {
  status: 200,
  body:
    '<!doctype html><html lang="en-IN"><meta charset="utf-8"><title>One moment</title>' +
    '<meta http-equiv="refresh" content="0"><p>One moment …</p></html>',
};
