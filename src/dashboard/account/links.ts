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
import { cookieText } from '../context.ts';
import type { PageReply } from '../reply.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { hint } from '../view/parts.ts';
import { form, link } from '../view/url.ts';
import {
  anyonePage,
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

export const linkPages = [
  anyonePage('GET /forgot-password').handledBy(async () => ({ view: forgotView() })),
  anyonePage('POST /forgot-password', {
    body: z.object({ email: text }),
  }).handledBy(async (request, accounts) => {
    await requestReset(accounts, request.body.email, clientOf(request));
    return { view: sentView(request.body.email) };
  }),
  ...passwordPages({
    kind: 'reset_password',
    path: '/reset-password',
    title: 'Set a new password',
    button: 'Set the password',
    again: 'request another link',
    async set(accounts, token, password, client) {
      await resetPassword(accounts, token, password, client);
      return { seeOther: '/dashboard/login?done=reset' };
    },
  }),
  ...passwordPages({
    kind: 'invitation',
    path: '/invitation',
    title: 'Welcome',
    lead: 'Choose a password for your account.',
    button: 'Continue',
    again: 'set a new password',
    async set(accounts, token, password, client) {
      const session = await acceptInvitation(accounts, token, password, client);
      return { seeOther: '/dashboard', setCookie: cookieText(SESSION_COOKIE, session) };
    },
  }),
];

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

interface PasswordLink {
  kind: Parameters<typeof findLink>[2];
  path: `/${string}`;
  title: string;
  lead?: string;
  button: string;
  /** What the reader can do when the link no longer works. */
  again: string;
  set(accounts: AccountDeps, token: string, password: string, client: Client): Promise<PageReply>;
}

function passwordPages({ kind, path, title, lead, button, again, set }: PasswordLink) {
  const place = `${path}/{token}` as const;
  const dead = [FORGOT, again] as const;
  const viewOf = async (accounts: AccountDeps, token: string) => {
    const found = await findLink(accounts, token, kind);
    const action = `/dashboard${path}/${token}`;
    const content = [lead && h('p', null, lead), ...newPasswordForm(action, found, button)];
    return { title, content };
  };
  return [
    anyonePage(`GET ${place}`, { params: tokenParams }).handledBy(
      async ({ params: { token } }, accounts) =>
        orDeadLink(async () => ({ view: await viewOf(accounts, token) }), dead),
    ),
    anyonePage(`POST ${place}`, {
      params: tokenParams,
      body: z.object({ newPassword: text }),
    }).handledBy(async (request, accounts) => {
      const { token } = request.params;
      const { newPassword } = request.body;
      return orDeadLink(() => set(accounts, token, newPassword, clientOf(request)), dead);
    }),
  ];
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
