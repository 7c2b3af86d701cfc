import { h } from 'preact';
import { z } from 'zod';
import type { AccountDeps, OpenLink } from '../../accounts/public.ts';
import {
  acceptInvitation,
  findLink,
  requestReset,
  resetPassword,
  SESSION_COOKIE,
} from '../../accounts/public.ts';
import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import { cookieText } from '../cookies.ts';
import { definePage } from '../page.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { notice } from '../view/parts.ts';
import { form, link } from '../view/url.ts';
import { clientOf } from './client.ts';
import { emailField, newPasswordField, text, tokenParams } from './fields.ts';
import type { RefusedForm } from './form-reply.ts';
import { orDeadLink, orShowAgain, refusal } from './form-reply.ts';

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
  const show = definePage(context, {
    audience: 'anyone',
    method: 'GET',
    path: '/forgot-password',
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ query }) => ({
    view: query.done === 'sent' ? sentView : forgotView({}),
  }));
  const send = definePage(context, {
    audience: 'anyone',
    method: 'POST',
    path: '/forgot-password',
    body: z.object({ email: text }),
  }).handledBy(async (request) =>
    orShowAgain(
      async () => {
        await requestReset(accounts, request.body.email, clientOf(request));
        return { seeOther: `${FORGOT}?done=sent` };
      },
      forgotView,
      request.body,
    ),
  );
  return [...show, ...send];
}

function forgotView(state: RefusedForm): View {
  const content = [
    h('p', null, 'We send you a link with which you set a new password.'),
    refusal(state),
    form(FORGOT, {}, emailField(state), submit('Send the link')),
    h('p', null, link('/dashboard/login', 'Back to the login')),
  ];
  return { title: 'Forgotten password', content };
}

const sentView: View = {
  title: 'Look into your mailbox',
  content: [
    notice('good', 'We have sent you a mail. The link in it works for 30 minutes.', 'status'),
    h('p', null, link('/dashboard/login', 'Back to the login')),
  ],
};

function resetPages(context: PageContext, accounts: AccountDeps): Route[] {
  const page = {
    audience: 'anyone',
    path: '/reset-password/{token}',
    params: tokenParams,
  } as const;
  const again = [FORGOT, 'request another link'] as const;
  const viewOf = async (token: string, state: RefusedForm = {}) => ({
    title: 'Set a new password',
    content: newPasswordForm(
      `/dashboard/reset-password/${token}`,
      await findLink(accounts, token, 'reset_password'),
      state,
      'Set the password',
    ),
  });
  const show = definePage(context, { ...page, method: 'GET' }).handledBy(
    async ({ params: { token } }) => orDeadLink(async () => ({ view: await viewOf(token) }), again),
  );
  const reset = definePage(context, {
    ...page,
    method: 'POST',
    body: z.object({ newPassword: text }),
  }).handledBy(async (request) => {
    const { token } = request.params;
    const set = async () => {
      await resetPassword(accounts, token, request.body.newPassword, clientOf(request));
      return { seeOther: '/dashboard/login?done=reset' };
    };
    return orDeadLink(() => orShowAgain(set, (state) => viewOf(token, state)), again);
  });
  return [...show, ...reset];
}

function invitationPages(context: PageContext, accounts: AccountDeps): Route[] {
  const page = { audience: 'anyone', path: '/invitation/{token}', params: tokenParams } as const;
  const again = [FORGOT, 'set a new password'] as const;
  const viewOf = async (token: string, state: RefusedForm = {}) => ({
    title: 'Welcome',
    content: [
      h('p', null, 'Choose a password for your account.'),
      ...newPasswordForm(
        `/dashboard/invitation/${token}`,
        await findLink(accounts, token, 'invitation'),
        state,
        'Continue',
      ),
    ],
  });
  const show = definePage(context, { ...page, method: 'GET' }).handledBy(
    async ({ params: { token } }) => orDeadLink(async () => ({ view: await viewOf(token) }), again),
  );
  const accept = definePage(context, {
    ...page,
    method: 'POST',
    body: z.object({ newPassword: text }),
  }).handledBy(async (request) => {
    const { token } = request.params;
    const set = async () => {
      const client = clientOf(request);
      const session = await acceptInvitation(accounts, token, request.body.newPassword, client);
      return { seeOther: '/dashboard', setCookie: cookieText(SESSION_COOKIE, session) };
    };
    return orDeadLink(() => orShowAgain(set, (state) => viewOf(token, state)), again);
  });
  return [...show, ...accept];
}

function newPasswordForm(
  action: string,
  { email, merchantName }: OpenLink,
  state: RefusedForm,
  button: string,
) {
  return [
    h(
      'p',
      null,
      merchantName !== null && [h('strong', { dir: 'auto' }, merchantName), ', '],
      email,
    ),
    refusal(state),
    form(action, {}, newPasswordField(state), submit(button)),
  ];
}
