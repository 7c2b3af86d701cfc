import type { Sql } from '../db/client.ts';
import { jsonRow } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { MailDeps, SealedMail } from '../mail/public.ts';
import { mailRow, prepareMail } from '../mail/public.ts';
import { accountMail } from './mails.ts';
import { merchantNotFound } from './queries.ts';
import type { LinkedAccountState } from './readiness.ts';

/** A linked account of production, and what its gateway has just reported about it. */
export interface CheckedAccount {
  gateway: string;
  linkedAccountId: string;
  /** Also `unknown` if the gateway is not configured for production and was not asked. */
  state: LinkedAccountState;
  /** The gateway makes no transfers to it before this time. */
  transfersFrom: Date;
  /** After this time reconciliation asks the gateway again. */
  checkAgainMs: number;
}

export interface AccountChangeDeps extends Pick<MailDeps, 'mailBox'> {
  sql: Sql;
  /** The base URL of the dashboard, for the mail. */
  publicBaseUrl: string;
  /** LINKED_ACCOUNT_CHANGE_SECONDS: how long a changed account waits before it is active. */
  linkedAccountChangeMs: number;
}

/** A merchant's accounts at a gateway in production, before a change. */
export interface PresentAccounts {
  activeId: string | null;
  waitingId: string | null;
}

interface Facts extends PresentAccounts {
  name: string;
  email: string;
  now: Date;
}

/** A prepared change: see {@link prepareAccountChange}. */
export interface AccountChange {
  account: CheckedAccount;
  delayMs: number;
  /** If the merchant's accounts have changed since, the change is refused. */
  seen: PresentAccounts;
  /** Written with the change. Null if nothing changes. */
  mail: SealedMail | null;
}

/**
 * Reads what a change of a merchant's account depends on, and seals the mail about it. {@link accountChange} is the
 * part of the statement that makes the change; {@link givingAccount} runs the statement.
 *
 * @param account from `checkLinkedAccount`, which asks the gateway
 * @param seen the accounts that the operator saw; by default the present ones
 * @throws DomainError `NOT_FOUND`
 */
export async function prepareAccountChange(
  deps: AccountChangeDeps,
  merchantId: string,
  account: CheckedAccount,
  seen?: PresentAccounts,
): Promise<AccountChange> {
  const { gateway, linkedAccountId } = account;
  const { linkedAccountChangeMs: delayMs } = deps;
  const [facts] = await deps.sql<Facts[]>`
    SELECT m.name, m.email, active.linked_account_id AS active_id,
      waiting.linked_account_id AS waiting_id, service_now() AS now
    FROM merchants m
    LEFT JOIN LATERAL active_linked_account(m.merchant_id, 'production', ${gateway}) active ON true
    LEFT JOIN LATERAL waiting_linked_account(m.merchant_id, 'production', ${gateway}) waiting ON true
    WHERE m.merchant_id = ${merchantId}`;
  if (!facts) throw merchantNotFound(merchantId);
  const { name: merchantName, email: to, now, ...present } = facts;
  const activeFrom = new Date(now.getTime() + delayMs);
  const notice = { merchantName, gateway, linkedAccountId, activeFrom, ...present };
  const content = accountMail(notice, deps.publicBaseUrl);
  const mail = content && prepareMail(deps, { to, ...content });
  return { account, delayMs, seen: seen ?? present, mail };
}

/**
 * The common table expressions that make the change for each merchant of the table `of`, and write the mail about
 * it. They follow other expressions of a WITH. `linked` has the time `active_from`, and the statement must read it.
 */
export function accountChange(sql: Sql, change: AccountChange, of: 'changed' | 'merchant') {
  const { account, delayMs, seen, mail } = change;
  return sql`, linked AS (
      SELECT set_linked_account(merchant_id, 'production', ${jsonRow(sql, account)}, ${delayMs},
        ${jsonRow(sql, seen)}) AS active_from FROM ${sql(of)}
    )
    ${mail ? sql`, notified AS (${mailRow(sql, mail, 'linked')})` : sql``}`;
}

/**
 * Refuses an account that another merchant has. If two merchants get it at once, the index decides.
 *
 * @throws DomainError `BAD_REQUEST`
 */
export async function assertAccountIsFree(
  sql: Sql,
  merchantId: string,
  account: CheckedAccount,
): Promise<void> {
  const { gateway, linkedAccountId } = account;
  const taken = await sql`
    SELECT FROM shared.linked_accounts WHERE environment = 'production' AND gateway = ${gateway}
      AND linked_account_id = ${linkedAccountId} AND merchant_id <> ${merchantId}`;
  if (taken.length > 0) throw ofAnotherMerchant(account);
}

/** The index that allows each account of production for one merchant only. */
const ONE_MERCHANT = 'linked_accounts_of_one_merchant';
/** The SQLSTATE with which `set_linked_account` refuses a change based on outdated accounts. */
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

function ofAnotherMerchant(
  { gateway, linkedAccountId }: CheckedAccount,
  cause?: unknown,
): DomainError {
  // The message does not name the other merchant, because a DomainError may be shown to a merchant.
  const message = `The linked account ${linkedAccountId} belongs to another merchant: copy the id of this merchant's account from the dashboard of ${gateway}`;
  return new DomainError('BAD_REQUEST', message, { cause });
}

function refusalOf(account: CheckedAccount, error: unknown): DomainError | undefined {
  const { constraint_name: constraint, code } = Object(error) as Record<string, unknown>;
  if (constraint === ONE_MERCHANT) return ofAnotherMerchant(account, error);
  if (code === SERIALIZATION_FAILURE) {
    const message = 'The linked account of the merchant has changed meanwhile: look at it again';
    return new DomainError('INVALID_STATE', message, { cause: error });
  }
  return undefined;
}
