import type { FormSender, SignedInUser } from '../accounts/public.ts';
import { FORM_COOKIE, KEPT_FORM_SECONDS, newToken, SESSION_COOKIE } from '../accounts/public.ts';
import type { ErrorCode } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import type { RequestContext, Route } from '../http/define-route.ts';
import type { RawInput } from '../http/input/validation.ts';
import { errorOf, ERRORS, HttpRefusal, ValidationError } from '../http/responses/errors.ts';
import type { PageContext } from './context.ts';
import { cookieText } from './context.ts';
import { notDone } from './refusal.ts';
import type { PageReply, PageResponse, RefusedForm } from './reply.ts';
import { messageOf, redirectTo, refusalOf, responseOf } from './reply.ts';
import { pathWith } from './view/url.ts';
import type { Refusal, ShownAgain } from './view/typed.ts';
import { LOG_IN, RedirectFirst } from './viewer.ts';

interface KnownSender extends FormSender {
  readonly mayHaveForm: boolean;
}

/** The sender of a request, for the forms that are kept. */
export function senderOf(
  user: SignedInUser | undefined,
  cookie: (name: string) => string | undefined,
): KnownSender {
  const browserToken = cookie(FORM_COOKIE);
  const mayHaveForm = user?.hasKeptForm === true || browserToken !== undefined;
  return { userId: user?.userId, sessionToken: cookie(SESSION_COOKIE), browserToken, mayHaveForm };
}

/** A page that shows a refused form is read as with GET, and gets what was typed beside its input. */
type SentAgain = RawInput & { readonly again?: ShownAgain };

interface FormOfPage {
  readonly context: PageContext;
  readonly sender: KnownSender;
  readonly formPath: string;
}

/** What was typed into a form of this page: one that was just refused, or one that was kept. */
export async function findTyped(
  { context: { forms }, sender, formPath }: FormOfPage,
  sent: SentAgain,
): Promise<ShownAgain | undefined> {
  if (sent.again || !sender.mayHaveForm) return sent.again;
  const form = await forms?.find(sender, formPath);
  return form && { form, notice: KEPT, isShown: false };
}

const KEPT =
  'Nothing was done yet. What you typed is in its form again: look at it, and send it again.';

/** Deletes the kept form after it was carried out. */
export async function dropTyped(
  { context: { forms }, sender, formPath }: FormOfPage,
  reply: PageReply,
): Promise<void> {
  const isDone = !('view' in reply) || (reply.status ?? 200) === 200;
  if (isDone && sender.mayHaveForm) await forms?.drop(sender, formPath);
}

type Asked = RequestContext & { readonly sent: RawInput };

interface RefusedRequest {
  readonly sender: KnownSender;
  readonly asked: Asked;
  /** The declared path of the page that has the form. */
  readonly pagePath: string;
  readonly method: Route['method'];
  /** The refusals that the page of the form shows itself. */
  readonly refusals: readonly ErrorCode[];
}

/**
 * The answer to a refused request. What was typed is shown again, or kept until its user has logged in.
 *
 * @throws the error if the reader cannot understand it
 */
export async function answerRefused(
  refused: RefusedForm,
  { sender, asked, pagePath, method, refusals }: RefusedRequest,
): Promise<PageResponse> {
  const refusal = refusalFor(refused.error, refusals);
  if (!refusal && Object.keys(refused.form.fields).length === 0) {
    const { error, formPath, rendering } = refused;
    if (method === 'GET' || !(error instanceof RedirectFirst)) return refusalOf(refused);
    return redirectTo(rendering.context, withoutForm(error, formPath));
  }
  if (refused.error instanceof RedirectFirst) return redirectAndKeep(refused, sender);
  const page = refused.rendering.context.pages.get(pagePath);
  return (await showAgain(refused, { page, asked, refusal })) ?? refusalOf(refused);
}

function refusalFor(error: unknown, refusals: readonly ErrorCode[]): Refusal | undefined {
  if (!(error instanceof DomainError) || !refusals.includes(error.code)) return undefined;
  const violations = error instanceof ValidationError ? error.validationErrors : {};
  return { code: error.code, message: error.message, violations };
}

/** The page after the login where no form is kept, as of a button or a file. @param formPath the path of its page */
export const withoutForm = ({ to }: RedirectFirst, formPath: string): string =>
  to === LOG_IN ? pathWith(LOG_IN, { next: formPath, done: 'refused' }) : to;

/** Sends the browser to the log-in or the confirmation, and keeps what was typed until its page is read again. */
async function redirectAndKeep(
  { rendering, error, requestId, form, formPath }: RefusedForm,
  sender: KnownSender,
): Promise<PageResponse> {
  const { context } = rendering;
  if (!(error instanceof RedirectFirst) || !context.forms) {
    return refusalOf({ rendering, error, requestId, form, formPath });
  }
  const browserToken = sender.browserToken ?? newToken();
  const keptFor = await context.forms.keep({ ...sender, browserToken }, formPath, form);
  if (keptFor === undefined) {
    const full = errorOf('TOO_MANY_REQUESTS');
    return refusalOf({ rendering, error: full, requestId, form, formPath });
  }
  const isLogIn = error.to === LOG_IN;
  const seeOther = isLogIn ? pathWith(LOG_IN, { next: formPath, done: 'kept' }) : error.to;
  const cookie = cookieText(FORM_COOKIE, browserToken, KEPT_FORM_SECONDS);
  return responseOf(rendering, { seeOther, setCookie: keptFor === 'browser' ? cookie : undefined });
}

/**
 * The page of a form with its refusal and what was typed.
 *
 * @param page the declared page of the form
 * @returns undefined if the page cannot be shown, such as one of an order that is not the user's
 */
async function showAgain(
  { error, form }: RefusedForm,
  { page, asked, refusal }: { page: Route | undefined; asked: Asked; refusal: Refusal | undefined },
): Promise<PageResponse | undefined> {
  if (!(error instanceof DomainError) || page === undefined) return undefined;
  const { status } = ERRORS[error.code];
  const notice = notDone(messageOf(error), status);
  const again = { form, notice, refusal, isShown: false };
  // The page to return to is in the form, and in the query of its page.
  const query = { next: form.fields['next'] };
  const sent: SentAgain = { ...asked.sent, query, body: undefined, again };
  const response = await page.handle(sent, asked);
  if (response.status !== 200) return undefined;
  const more = error instanceof HttpRefusal ? error.headers : {};
  // The page is one that `responseOf` has made. Its cookies are of the page itself, and no answer to the form.
  const { headers, ...shown } = response as PageResponse;
  const { 'Set-Cookie': _, ...own } = headers ?? {};
  return { ...shown, status, headers: { ...own, ...more } };
}
