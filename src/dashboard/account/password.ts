import { h } from 'preact';
import { z } from 'zod';
import type { AccountDeps } from '../../accounts/public.ts';
import { changePassword, SESSION_COOKIE } from '../../accounts/public.ts';
import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import { cookieText } from '../context.ts';
import { definePage } from '../page.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { setting } from '../view/parts.ts';
import { form, link } from '../view/url.ts';
import type { MerchantViewer, OperatorViewer } from '../viewer.ts';
import type { AccountAudience } from './parts.ts';
import {
  accountPath,
  clientOf,
  codeField,
  newPasswordField,
  passwordField,
  refusal,
  text,
} from './parts.ts';

/** The page on which a user changes the password. */
export function passwordPages(
  context: PageContext,
  accounts: AccountDeps,
  audience: AccountAudience,
): Route[] {
  const show = definePage(context, audience, 'GET /account/password').handledBy(
    async ({ viewer }) => ({
      view: passwordView(viewer),
    }),
  );
  const change = definePage(context, audience, 'POST /account/password', {
    body: z.object({ password: text, code: text, newPassword: text }),
  }).handledBy(async (request) => {
    const { viewer, body } = request;
    const token = await changePassword(accounts, viewer.user, body, clientOf(request));
    const setCookie = cookieText(SESSION_COOKIE, token);
    return { seeOther: `${accountPath(viewer)}?done=password`, setCookie };
  });
  return [...show, ...change];
}

function passwordView(viewer: MerchantViewer | OperatorViewer): View {
  const path = accountPath(viewer);
  const content = [
    refusal(),
    setting(
      'own-password',
      'Password',
      'All your other sessions end.',
      form(
        `${path}/password`,
        {},
        passwordField('Your password'),
        viewer.user.hasTwoFactor && codeField(),
        newPasswordField(),
        submit('Change the password'),
      ),
    ),
    h('p', null, link(path, 'Back to the account')),
  ];
  return { title: 'Change the password', content };
}
