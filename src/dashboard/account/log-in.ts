import { h } from 'preact';
import { z } from 'zod';
import {
  DEVICE_COOKIE,
  DEVICE_COOKIE_DAYS,
  endSession,
  isCodeAwaited,
  logIn,
  LOGIN_COOKIE,
  logInWithCode,
  newToken,
  SESSION_COOKIE,
} from '../../accounts/public.ts';
import { DomainError } from '../../domain/index.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import { cookieText } from '../context.ts';
import type { PageReply } from '../reply.ts';
import { hidden, submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { doneNotice, notice } from '../view/parts.ts';
import { form, link, pathWith } from '../view/url.ts';
import { LOG_IN } from '../viewer.ts';
import {
  anyonePage,
  clientOf,
  codeField,
  emailField,
  passwordField,
  refusal,
  text,
} from './parts.ts';

const CODE = '/dashboard/login/code';
const START = '/dashboard';

/** The time for which a login waits for its code. */
const LOGIN_COOKIE_SECONDS = 600;

const DONE = {
  reset: 'The new password is set. Log in with it.',
  ended: 'You are logged out.',
  kept: {
    tone: 'wait',
    text: 'You were logged out meanwhile, and nothing was done. Log in within the hour: what you typed is then in its form again.',
  },
  refused: {
    tone: 'wait',
    text: 'You were logged out meanwhile, and nothing was done. Log in, and do it again.',
  },
} as const;

const query = z.object({ next: z.string().optional(), done: z.string().optional() });

/** The page to show after the login; another site's address is not one. */
export function pageAfterLogin(next: string | undefined): string {
  const isPage = next !== undefined && /^\/(dashboard|operator)(\/[\w.~%-]+)*$/.test(next);
  return isPage ? next : START;
}

const DAY_SECONDS = 86_400;

/** Written with the page before the log-in, whose answer writes another cookie. */
const deviceCookie = () => cookieText(DEVICE_COOKIE, newToken(), DEVICE_COOKIE_DAYS * DAY_SECONDS);

const inSession = (token: string, next: string | undefined): PageReply => ({
  seeOther: pageAfterLogin(next),
  setCookie: cookieText(SESSION_COOKIE, token),
});

export const logInPages = [
  anyonePage('GET /login', { query }).handledBy(
    async ({ viewer, query: { next, done }, cookie }) => {
      if (viewer.user) return { seeOther: pageAfterLogin(next) };
      const view = logInView(next, done);
      return cookie(DEVICE_COOKIE) === undefined ? { view, setCookie: deviceCookie() } : { view };
    },
  ),
  anyonePage('POST /login', {
    body: z.object({ email: text, password: text, next: text }),
  }).handledBy(async (request, accounts) => {
    const { next, ...given } = request.body;
    const result = await logIn(accounts, given, clientOf(request));
    if (result.next === 'session') return inSession(result.token, next);
    const setCookie = cookieText(LOGIN_COOKIE, result.token, LOGIN_COOKIE_SECONDS);
    return { seeOther: pathWith(CODE, { next }), setCookie };
  }),
  anyonePage('GET /login/code', { query }).handledBy(
    async ({ query: { next }, cookie }, accounts) => {
      const isAwaited = await isCodeAwaited(accounts, cookie(LOGIN_COOKIE) ?? '');
      return isAwaited ? { view: codeView(next) } : { seeOther: LOG_IN };
    },
  ),
  anyonePage('POST /login/code', {
    body: z.object({ code: text, next: text }),
  }).handledBy(async (request, accounts) => {
    const { code, next } = request.body;
    const pending = request.cookie(LOGIN_COOKIE) ?? '';
    try {
      return inSession(await logInWithCode(accounts, pending, code, clientOf(request)), next);
    } catch (error) {
      if (!isExpired(error)) throw error;
      const { title, content } = logInView();
      return {
        view: { title, content: [notice('bad', error.message, 'alert'), content] },
        status: 400,
      };
    }
  }),
  anyonePage('POST /logout').handledBy(async ({ viewer: { user }, address }, accounts) => {
    if (user) await endSession(accounts, user.userId, user.sessionId, address);
    return { seeOther: `${LOG_IN}?done=ended`, setCookie: cookieText(SESSION_COOKIE, '', 0) };
  }),
];

function logInView(next?: string, done?: string): View {
  const content = [
    doneNotice(DONE, done),
    refusal(),
    form(LOG_IN, {}, emailField(), passwordField(), hidden('next', next ?? ''), submit('Log in')),
    h('p', null, link('/dashboard/forgot-password', 'Forgotten your password?')),
    h('p', null, 'No account yet? ', link('/dashboard/sign-up', 'Sign up')),
  ];
  return { title: 'Log in', content };
}

const isExpired = (error: unknown): error is DomainError =>
  error instanceof DomainError && !(error instanceof ValidationError) && error.code === 'NOT_FOUND';

function codeView(next: string | undefined): View {
  const hint =
    'The six digits that your authenticator shows. Without the device, enter one of your recovery codes.';
  const content = [
    refusal(),
    form(CODE, {}, codeField(hint), hidden('next', next ?? ''), submit('Log in')),
    h('p', null, link(LOG_IN, 'Log in with another account')),
  ];
  return { title: 'Two-factor code', content };
}
