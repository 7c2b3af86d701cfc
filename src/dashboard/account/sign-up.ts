import { h } from 'preact';
import { z } from 'zod';
import type { WaitingSignUp } from '../../accounts/public.ts';
import { confirmSignUp, findSignUp, SESSION_COOKIE, signUp } from '../../accounts/public.ts';
import { cookieText } from '../context.ts';
import { submit, textField } from '../view/fields.ts';
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
  passwordField,
  refusal,
  text,
  tokenParams,
} from './parts.ts';

const SIGN_UP = '/dashboard/sign-up';

export const signUpPages = [
  anyonePage('GET /sign-up').handledBy(async ({ viewer }) =>
    viewer.user ? { seeOther: '/dashboard' } : { view: signUpView() },
  ),
  anyonePage('POST /sign-up', {
    body: z.object({ email: text, businessName: text, password: text }),
  }).handledBy(async (request, accounts) => {
    await signUp(accounts, request.body, clientOf(request));
    return { view: sentView(request.body.email) };
  }),
  anyonePage('GET /confirm-email/{token}', {
    params: tokenParams,
  }).handledBy(async ({ params: { token } }, accounts) =>
    orDeadLink(
      async () => ({ view: confirmView(token, await findSignUp(accounts, token)) }),
      [SIGN_UP, 'sign up again'],
    ),
  ),
  anyonePage('POST /confirm-email/{token}', {
    params: tokenParams,
    body: z.object({ password: text }),
  }).handledBy(async (request, accounts) => {
    const { token } = request.params;
    return orDeadLink(async () => {
      const client = clientOf(request);
      const session = await confirmSignUp(accounts, token, request.body.password, client);
      return { seeOther: '/dashboard', setCookie: cookieText(SESSION_COOKIE, session) };
    }, [SIGN_UP, 'sign up again']);
  }),
];

function signUpView(): View {
  const content = [
    h(
      'p',
      { class: 'lead' },
      'Take payments by UPI. Each is held until the delivery is undisputed, and then yours.',
    ),
    refusal(),
    form(
      SIGN_UP,
      {},
      textField({
        name: 'businessName',
        label: 'Name of the business',
        hint: 'Your buyers see it when they pay.',
        required: true,
        autocomplete: 'organization',
      }),
      emailField('Your buyers see it, too, for questions about their orders.'),
      newPasswordField('Password', 'password'),
      submit('Sign up'),
    ),
    h('p', null, 'You have an account? ', link('/dashboard/login', 'Log in')),
  ];
  return { title: 'Sign up', content };
}

const sentView = (email: string) =>
  mailSentView(
    email,
    hint(
      'The link works for 24 hours. Nothing has arrived? Look among the unwanted mails, or ',
      link(SIGN_UP, 'sign up again'),
      '.',
    ),
  );

function confirmView(token: string, waiting: WaitingSignUp): View {
  const content = [
    h('p', null, h('strong', { dir: 'auto' }, waiting.businessName), ', ', waiting.email),
    refusal(),
    form(
      `/dashboard/confirm-email/${token}`,
      {},
      passwordField('The password that you have just chosen'),
      submit('Confirm the address'),
    ),
    hint('You did not sign up? Close this page: no account is created without the password.'),
  ];
  return { title: 'Confirm your address', content };
}
