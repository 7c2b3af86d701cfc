import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { z } from 'zod';
import type { Client } from '../../accounts/public.ts';
import {
  DEVICE_COOKIE,
  MAX_PASSWORD_LENGTH,
  MIN_PASSWORD_LENGTH,
  SESSION_COOKIE,
} from '../../accounts/public.ts';
import type { FormState } from '../view/fields.ts';
import { textField } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { icon } from '../view/url.ts';
import type { MerchantViewer, OperatorViewer } from '../viewer.ts';

/** A field of a form; one that was not sent is empty. */
export const text = z.string().default('');

/** The token of a link. */
export const tokenParams = z.object({ token: z.string() });

/** The field of the e-mail address with which a user logs in. */
export const emailField = (state: FormState, hint?: string) =>
  textField(
    {
      name: 'email',
      label: 'E-mail',
      type: 'email',
      hint,
      required: true,
      autocomplete: 'username',
    },
    state,
  );

/** The field of the password that the user has. @param name where a page has several of them */
export const passwordField = (
  state: FormState,
  { name = 'password', label = 'Password' }: { name?: string; label?: string } = {},
) =>
  textField(
    { name, label, type: 'password', required: true, autocomplete: 'current-password' },
    state,
  );

/** The field of a password that the user chooses. */
export const newPasswordField = (
  state: FormState,
  { name = 'newPassword', label = 'New password' }: { name?: string; label?: string } = {},
) =>
  textField(
    {
      name,
      label,
      type: 'password',
      required: true,
      autocomplete: 'new-password',
      hint: `${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters of any kind. Several words that have nothing to do with each other are easy to remember and hard to guess.`,
    },
    state,
  );

/** The field of a two-factor code. @param name where a page has several of them */
export const codeField = (state: FormState, hint: string, name = 'code') =>
  textField({ name, label: 'Code', hint, required: true, autocomplete: 'one-time-code' }, state);

/** The browser of a request, as the accounts record it. */
export function clientOf(request: {
  address: string;
  userAgent: string;
  cookie(name: string): string | undefined;
}): Client {
  const { address, userAgent } = request;
  return {
    address,
    userAgent,
    sessionToken: request.cookie(SESSION_COOKIE),
    deviceToken: request.cookie(DEVICE_COOKIE),
  };
}

/** Who has an account page: each kind of user has it at another address. */
export type AccountAudience = 'merchant' | 'operator';

/** The path of the viewer's account page. */
export function accountPath(viewer: MerchantViewer | OperatorViewer): string {
  return 'environment' in viewer ? `/dashboard/${viewer.environment}/account` : '/operator/account';
}

/** The page after a mail with a link was sent. It does not say whether the address has an account. */
export function mailSentView(email: string, ...then: ComponentChildren[]): View {
  return {
    title: 'Check your e-mail',
    content: [
      h(
        'p',
        { class: 'lead', role: 'status' },
        icon('mail'),
        ' Check your e-mail at ',
        h('strong', null, email),
        ' and open the link in it.',
      ),
      ...then,
    ],
  };
}
