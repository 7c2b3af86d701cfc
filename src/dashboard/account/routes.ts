import type { AccountDeps } from '../../accounts/public.ts';
import type { NoticeDeps } from '../../merchants/public.ts';
import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import { accountPages } from './account.ts';
import { confirmPages } from './confirm.ts';
import { linkPages } from './links.ts';
import { logInPages } from './log-in.ts';
import { mailPages } from './mails.ts';
import { passwordPages } from './password.ts';
import { signUpPages } from './sign-up.ts';
import { twoFactorPages } from './two-factor.ts';

/** The pages of users: sign-up, login, and the account of a merchant's user and of an operator. */
export function accountRoutes(
  context: PageContext,
  accounts: AccountDeps,
  notices: NoticeDeps,
): Route[] {
  const audiences = ['merchant', 'operator'] as const;
  return [
    ...signUpPages(context, accounts),
    ...logInPages(context, accounts),
    ...confirmPages(context, accounts),
    ...linkPages(context, accounts),
    ...mailPages(context, accounts, notices),
    ...audiences.flatMap((audience) => [
      ...accountPages(context, accounts, audience),
      ...passwordPages(context, accounts, audience),
      ...twoFactorPages(context, accounts, audience),
    ]),
  ];
}
