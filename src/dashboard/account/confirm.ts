import { h } from 'preact';
import { z } from 'zod';
import type { SignedInUser } from '../../accounts/public.ts';
import { confirmAgain } from '../../accounts/public.ts';
import { hidden, submit } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import { form, link, pathWith } from '../view/url.ts';
import { RedirectFirst } from '../viewer.ts';
import { pageAfterLogin } from './log-in.ts';
import { anyonePage, clientOf, codeField, passwordField, refusal, text } from './parts.ts';

/** The page that asks a signed-in user again for password and second factor: see `asksAgain` of a page. */
export const confirmPages = [
  anyonePage('GET /confirm', {
    query: z.object({ next: z.string().optional() }),
  }).handledBy(async ({ viewer, query: { next } }) => ({
    view: confirmView(requireUser(viewer.user, next), pageAfterLogin(next)),
  })),
  anyonePage('POST /confirm', {
    body: z.object({ password: text, code: text, next: text }),
  }).handledBy(async (request, accounts) => {
    const { next, ...given } = request.body;
    const user = requireUser(request.viewer.user, next);
    await confirmAgain(accounts, user, given, clientOf(request));
    return { seeOther: pageAfterLogin(next) };
  }),
];

/** @throws RedirectFirst without a session, or for an operator who has to set two-factor up first */
function requireUser(user: SignedInUser | undefined, next: string | undefined): SignedInUser {
  if (user === undefined) {
    throw new RedirectFirst(pathWith('/dashboard/login', { next: pageAfterLogin(next) }));
  }
  if (user.role !== null && !user.hasTwoFactor) throw new RedirectFirst('/operator/account');
  return user;
}

function confirmView({ email, hasTwoFactor }: SignedInUser, next: string): View {
  const content = [
    h(
      'p',
      null,
      `Nothing was done yet: what you want to do needs ${hasTwoFactor ? 'your password and a two-factor code' : 'your password'} again. Then you are back at its form with what you typed, and are not asked for the next ten minutes.`,
    ),
    h('p', null, 'You are logged in as ', h('strong', null, email), '.'),
    refusal(),
    form(
      '/dashboard/confirm',
      {},
      passwordField('Your password'),
      hasTwoFactor && codeField(),
      hidden('next', next),
      submit('Confirm'),
    ),
    h('p', null, link(next, 'Back without it')),
  ];
  return { title: 'Confirm that it is you', content };
}
