import { h } from 'preact';
import { z } from 'zod';
import type { AccountDeps, Client, OpenLink } from '../../accounts/public.ts';
import {
  acceptInvitation,
  findLink,
  requestReset,
  resetPassword,
  SESSION_COOKIE,
} from '../../accounts/public.ts';
import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import { cookieText } from '../context.ts';
import { definePage } from '../page.ts';
import type { PageReply } from '../reply.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { hint } from '../view/parts.ts';
import { form, link } from '../view/url.ts';
import {
  clientOf,
  emailField,
  mailSentView,
  newPasswordField,
  orDeadLink,
  refusal,
  text,
  tokenParams,
} from './parts.ts';

const FORGOT = '/dashboard/forgot-password';

/** The pages of links that set a password: after it was forgotten, and of an invitation. */
export function linkPages(context: PageContext, accounts: AccountDeps): Route[] {
  return [
    ...forgotPages(context, accounts),
    ...resetPages(context, accounts),
    ...invitationPages(context, accounts),
  ];
}

function forgotPages(context: PageContext, accounts: AccountDeps): Route[] {
  const show = definePage(context, 'anyone', 'GET /forgot-password').handledBy(async () => ({
    view: forgotView(),
  }));
  const send = definePage(context, 'anyone', 'POST /forgot-password', {
    body: z.object({ email: text }),
  }).handledBy(async (request) => {
    await requestReset(accounts, request.body.email, clientOf(request));
    return { view: sentView(request.body.email) };
  });
  return [...show, ...send];
}

function forgotView(): View {
  const content = [
    h('p', null, 'We send you a link with which you set a new password.'),
    refusal(),
    form(FORGOT, {}, emailField(), submit('Send the link')),
    h('p', null, link('/dashboard/login', 'Back to the login')),
  ];
  return { title: 'Forgotten password', content };
}

const sentView = (email: string) =>
  mailSentView(
    email,
    hint('The link works for 30 minutes.'),
    h('p', null, link('/dashboard/login', 'Back to the login')),
  );

const resetPages = (context: PageContext, accounts: AccountDeps) =>
  passwordPages(context, accounts, {
    kind: 'reset_password',
    path: '/reset-password',
    title: 'Set a new password',
    button: 'Set the password',
    again: 'request another link',
    async set(token, password, client) {
      await resetPassword(accounts, token, password, client);
      return { seeOther: '/dashboard/login?done=reset' };
    },
  });

const invitationPages = (context: PageContext, accounts: AccountDeps) =>
  passwordPages(context, accounts, {
    kind: 'invitation',
    path: '/invitation',
    title: 'Welcome',
    lead: 'Choose a password for your account.',
    button: 'Continue',
    again: 'set a new password',
    async set(token, password, client) {
      const session = await acceptInvitation(accounts, token, password, client);
      return { seeOther: '/dashboard', setCookie: cookieText(SESSION_COOKIE, session) };
    },
  });

/** What the pages of a link that sets a password say and do. */
interface PasswordLink {
  kind: Parameters<typeof findLink>[2];
  path: `/${string}`;
  title: string;
  lead?: string;
  button: string;
  /** What the reader can do when the link no longer works. */
  again: string;
  set(token: string, password: string, client: Client): Promise<PageReply>;
}

/** The page of a link that sets a password, and its form. */
function passwordPages(
  context: PageContext,
  accounts: AccountDeps,
  { kind, path, title, lead, button, again, set }: PasswordLink,
): Route[] {
  const place = `${path}/{token}` as const;
  const dead = [FORGOT, again] as const;
  const viewOf = async (token: string) => {
    const found = await findLink(accounts, token, kind);
    const action = `/dashboard${path}/${token}`;
    const content = [lead && h('p', null, lead), ...newPasswordForm(action, found, button)];
    return { title, content };
  };
  const show = definePage(context, 'anyone', `GET ${place}`, { params: tokenParams }).handledBy(
    async ({ params: { token } }) => orDeadLink(async () => ({ view: await viewOf(token) }), dead),
  );
  const change = definePage(context, 'anyone', `POST ${place}`, {
    params: tokenParams,
    body: z.object({ newPassword: text }),
  }).handledBy(async (request) => {
    const { token } = request.params;
    const { newPassword } = request.body;
    return orDeadLink(() => set(token, newPassword, clientOf(request)), dead);
  });
  return [...show, ...change];
}

function newPasswordForm(action: string, { email, merchantName }: OpenLink, button: string) {
  return [
    h(
      'p',
      null,
      merchantName !== null && [h('strong', { dir: 'auto' }, merchantName), ', '],
      email,
    ),
    refusal(),
    form(action, {}, newPasswordField(), submit(button)),
  ];
}
