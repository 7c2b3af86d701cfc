import type { Sql } from '../db/client.ts';
import { jsonRow } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { CheckedAccount } from '../payments/public.ts';
import { merchantNotFound } from './queries.ts';

/** What a change of a merchant's account in production needs. */
export interface AccountChangeDeps {
  sql: Sql;
  /** After this time a changed account is active: LINKED_ACCOUNT_CHANGE_SECONDS. */
  linkedAccountChangeMs: number;
}

/** What a merchant has at a gateway in production, before a change. */
interface PresentAccounts {
  activeId: string | null;
  waitingId: string | null;
}

/** A change that is ready to be made: see {@link prepareAccountChange}. */
export interface AccountChange {
  account: CheckedAccount;
  delayMs: number;
  /** If the merchant has other accounts by now, the change is refused. */
  seen: PresentAccounts;
}

/**
 * Reads what a change of a merchant's account depends on. The statement that makes the change has
 * {@link accountChange}, and runs in {@link givingAccount}.
 *
 * @param account by `checkLinkedAccount`, which asks the gateway
 * @throws DomainError `NOT_FOUND`
 */
export async function prepareAccountChange(
  { sql, linkedAccountChangeMs: delayMs }: AccountChangeDeps,
  merchantId: string,
  account: CheckedAccount,
): Promise<AccountChange> {
  const [seen] = await sql<PresentAccounts[]>`
    SELECT active.linked_account_id AS active_id, waiting.linked_account_id AS waiting_id
    FROM merchants m
    LEFT JOIN LATERAL active_linked_account(m.merchant_id, 'production', ${account.gateway}) active ON true
    LEFT JOIN LATERAL waiting_linked_account(m.merchant_id, 'production', ${account.gateway}) waiting ON true
    WHERE m.merchant_id = ${merchantId}`;
  if (!seen) throw merchantNotFound(merchantId);
  return { account, delayMs, seen };
}

/**
 * The query that makes a change for each merchant of the table `of`, and returns `active_from`. The
 * statement must read its rows.
 */
export function accountChange(sql: Sql, change: AccountChange, of: 'changed' | 'merchant') {
  const { account, delayMs, seen } = change;
  return sql`
    SELECT set_linked_account(merchant_id, 'production', ${jsonRow(sql, account)}, ${delayMs},
      ${jsonRow(sql, seen)}) AS active_from FROM ${sql(of)}`;
}

/** The index by which an account of production belongs to one merchant. */
const ONE_MERCHANT = 'linked_accounts_of_one_merchant';
/** How `set_linked_account` refuses a change of accounts that the caller has not seen. */
const SERIALIZATION_FAILURE = '40001';

/**
 * Runs the statement that gives a merchant an account.
 *
 * @throws DomainError `BAD_REQUEST` if another merchant has the account, `INVALID_STATE` if the merchant's
 *   account was changed at the same moment, and what `change` throws
 */
export async function givingAccount<Result>(
  account: CheckedAccount | undefined,
  change: () => Promise<Result>,
): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    throw (account && refusalOf(account, error)) ?? error;
  }
}

function refusalOf(
  { gateway, linkedAccountId }: CheckedAccount,
  error: unknown,
): DomainError | undefined {
  const { constraint_name: constraint, code } = Object(error) as Record<string, unknown>;
  if (constraint === ONE_MERCHANT) {
    // It does not name the other merchant: a DomainError may be shown to a merchant.
    const message = `The linked account ${linkedAccountId} belongs to another merchant: copy the id of this merchant's account from the dashboard of ${gateway}`;
    return new DomainError('BAD_REQUEST', message, { cause: error });
  }
  if (code === SERIALIZATION_FAILURE) {
    const message = 'The linked account of the merchant has changed meanwhile: look at it again';
    return new DomainError('INVALID_STATE', message, { cause: error });
  }
  return undefined;
}
