import { DomainError } from '../domain/index.ts';
import type { CheckedAccount } from '../payments/public.ts';

/** The index by which an account of production belongs to one merchant. */
const ONE_MERCHANT = 'linked_accounts_of_one_merchant';

const isTaken = (error: unknown) =>
  error instanceof Error && 'constraint_name' in error && error.constraint_name === ONE_MERCHANT;

/**
 * Makes a change that gives a merchant an account.
 *
 * @throws DomainError `BAD_REQUEST` if another merchant has the account, and what `change` throws
 */
export async function givingAccount<Result>(
  account: CheckedAccount | undefined,
  change: () => Promise<Result>,
): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    if (account === undefined || !isTaken(error)) throw error;
    const { gateway, linkedAccountId } = account;
    // It does not name the other merchant: a DomainError may be shown to a merchant.
    const message = `The linked account ${linkedAccountId} belongs to another merchant: copy the id of this merchant's account from the dashboard of ${gateway}`;
    throw new DomainError('BAD_REQUEST', message, { cause: error });
  }
}
