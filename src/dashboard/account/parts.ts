import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { z } from 'zod';
import type { AccountDeps, Client } from '../../accounts/public.ts';
import {
  DEVICE_COOKIE,
  MAX_PASSWORD_LENGTH,
  MIN_PASSWORD_LENGTH,
  SESSION_COOKIE,
} from '../../accounts/public.ts';
import { DomainError } from '../../domain/index.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import { pagesOf } from '../page.ts';
import type { PageReply } from '../reply.ts';
import { refused, textField } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { notice } from '../view/parts.ts';
import { icon, link } from '../view/url.ts';
import type { MerchantViewer, OperatorViewer } from '../viewer.ts';

/** Declares a page that needs no session. */
export const anyonePage = pagesOf<AccountDeps, 'anyone'>('anyone');
/** Declares a page of everyone who has an account. */
export const accountPage = pagesOf<AccountDeps, AccountAudience>('merchant', 'operator');

/** A field that was not sent is empty. */
export const text = z.string().default('');

export const tokenParams = z.object({ token: z.string() });

export const emailField = (hint?: string) =>
  textField({
    name: 'email',
    label: 'E-mail',
    type: 'email',
    hint,
    required: true,
    autocomplete: 'username',
  });

/** @param name where a page has several of these fields */
export const passwordField = (label = 'Password', name = 'password') =>
  textField({ name, label, type: 'password', required: true, autocomplete: 'current-password' });

export const newPasswordField = (label = 'New password', name = 'newPassword') =>
  textField({
    name,
    label,
    type: 'password',
    required: true,
    autocomplete: 'new-password',
    hint: `${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters of any kind. Several words that have nothing to do with each other are easy to remember and hard to guess.`,
  });

/** @param name where a page has several of these fields */
export const codeField = (hint = 'From the app, or a recovery code.', name = 'code') =>
  textField({ name, label: 'Code', hint, required: true, autocomplete: 'one-time-code' });

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

export function accountPath(viewer: MerchantViewer | OperatorViewer): string {
  return 'environment' in viewer ? `/dashboard/${viewer.environment}/account` : '/operator/account';
}

export const refusal = () => refused({ atFields: 'Something has to be corrected below.' });

/**
 * Replaces the page "Not found" of a link that has expired or was used by one that says what to do.
 *
 * @param next the path where the reader gets another link, and its text
 */
export async function orDeadLink(
  action: () => Promise<PageReply>,
  next: readonly [path: string, text: string],
): Promise<PageReply> {
  try {
    return await action();
  } catch (error) {
    const isDead =
      error instanceof DomainError &&
      !(error instanceof ValidationError) &&
      (error.code === 'NOT_FOUND' || error.code === 'INVALID_STATE');
    if (!isDead) throw error;
    const links = h('p', null, link('/dashboard/login', 'Log in'), ' or ', link(...next));
    const content = [notice('bad', error.message, 'alert'), links];
    return { status: 404, view: { title: 'This link does not work', content } };
  }
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
