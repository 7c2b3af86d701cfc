import { h } from 'preact';
import { z } from 'zod';
import { changePassword, SESSION_COOKIE } from '../../accounts/public.ts';
import { cookieText } from '../context.ts';
import { submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { setting } from '../view/parts.ts';
import { form, link } from '../view/url.ts';
import type { MerchantViewer, OperatorViewer } from '../viewer.ts';
import {
  accountPage,
  accountPath,
  clientOf,
  codeField,
  newPasswordField,
  passwordField,
  refusal,
  text,
} from './parts.ts';

export const passwordPages = [
  accountPage('GET /account/password').handledBy(async ({ viewer }) => ({
    view: passwordView(viewer),
  })),
  accountPage('POST /account/password', {
    body: z.object({ password: text, code: text, newPassword: text }),
  }).handledBy(async (request, accounts) => {
    const { viewer, body } = request;
    const token = await changePassword(accounts, viewer.user, body, clientOf(request));
    const setCookie = cookieText(SESSION_COOKIE, token);
    return { seeOther: `${accountPath(viewer)}?done=password`, setCookie };
  }),
];

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
