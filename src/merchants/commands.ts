import { ulid } from 'ulid';
import { z } from 'zod';
import type { Actor } from '../db/actor.ts';
import type { Alongside, Sql } from '../db/client.ts';
import { alongsideQuery, andAlongside } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import { text } from '../http/input/fields.ts';
import type { MailDeps, SealedMail } from '../mail/public.ts';
import { mailRow, startMail } from '../mail/public.ts';
import type {
  AccountChange,
  AccountChangeDeps,
  CheckedAccount,
  PresentAccounts,
} from './linked-accounts.ts';
import { accountChange, givingAccount, prepareAccountChange } from './linked-accounts.ts';
import type { MerchantRow, MerchantStatus } from './queries.ts';
import { merchantNotFound, requireMerchant } from './queries.ts';

/** `actor` is the name that the audit log records for the change. */
export interface MerchantAdminDeps {
  sql: Sql;
  actor: Actor;
  alongside?: Alongside | undefined;
}

/**
 * Characters that a name on one line must not contain: control and format characters, separators of lines and
 * paragraphs, and unpaired surrogates. Scripts of India need the two joiners.
 */
const NOT_IN_A_NAME = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|[^\P{Cf}\u200C\u200D]/u;

/** The name appears in the subjects of mails. */
export const newMerchantSchema = z.object({
  name: z
    .string()
    .trim()
    .pipe(
      z
        .string()
        .max(200, 'name must be at most 200 characters')
        .refine(
          (name) => !NOT_IN_A_NAME.test(name),
          'name must be one line without control or invisible characters',
        ),
    )
    .pipe(text({ error: 'name must not be blank', notBlank: true })),
  email: z.email('email must be a valid email address').max(254),
});

/** The new status of each decision, and the statuses in which it is allowed. */
const STATUS_CHANGES = {
  /** For an approved merchant, it only adds a linked account. */
  approve: { to: 'APPROVED', from: ['PENDING', 'REJECTED', 'APPROVED'] },
  /** Also revokes an approval: the merchant is then treated like a suspended one, see `access_status_of`. */
  reject: { to: 'REJECTED', from: ['PENDING', 'REJECTED', 'APPROVED', 'SUSPENDED'] },
  suspend: { to: 'SUSPENDED', from: ['APPROVED', 'SUSPENDED'] },
  activate: { to: 'APPROVED', from: ['SUSPENDED', 'APPROVED'] },
} as const satisfies Record<string, { to: MerchantStatus; from: readonly MerchantStatus[] }>;

export type StatusChange = keyof typeof STATUS_CHANGES;

/**
 * Registers a merchant. It has no API keys until it is approved.
 *
 * @throws DomainError `BAD_REQUEST`
 */
export async function createMerchant(
  { sql, actor }: MerchantAdminDeps,
  merchant: { name: string; email: string },
): Promise<MerchantRow> {
  const parsed = newMerchantSchema.safeParse(merchant);
  if (!parsed.success) {
    throw new DomainError('BAD_REQUEST', parsed.error.issues[0]?.message ?? 'wrong');
  }
  const { name, email } = parsed.data;
  const merchantId = `mer_${ulid()}`;
  const [row] = await sql<MerchantRow[]>`
    WITH audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id)
      VALUES (${actor.name}, ${actor.address}, 'merchant.create', ${merchantId})
    )
    INSERT INTO merchants (merchant_id, name, email) VALUES (${merchantId}, ${name}, ${email})
    RETURNING *, '{}'::jsonb AS linked_accounts, false AS is_ready,
      NULL AS linked_account_state, NULL AS transfers_from, NULL AS waiting_account_id,
      NULL AS waiting_until`;
  if (!row) throw new Error('INSERT … RETURNING returns a row');
  return row;
}

export interface StatusDetails {
  /** Recorded in the audit log. */
  reason?: string | undefined;
  /** The account that the merchant's gateway pays out to in production, from `prepareAccountChange`. */
  linkedAccount?: AccountChange | undefined;
  /** The payment gateway of the merchant's new orders. */
  gateway?: string | undefined;
  /** The state that the operator has seen. If the merchant has changed since, the decision is refused. */
  seen?: Pick<MerchantRow, 'status' | 'submissions'> | undefined;
  /** The mail about the decision, written by the same statement. */
  mail?: SealedMail | undefined;
}

/**
 * Approves, rejects, suspends or activates a merchant.
 *
 * In production, the merchant's gateway pays out to the linked account. Approval does not require it, because the
 * sandbox creates its own; but without one that receives transfers no production order can be created or paid
 * (`is_merchant_ready`). Orders keep the gateway that they were created with, so the linked account there is kept
 * when the merchant gets another gateway.
 *
 * A merchant's first account at a gateway is active immediately, a later one after LINKED_ACCOUNT_CHANGE_SECONDS.
 * The statement also writes the mail about the account, which the sweep sends.
 *
 * @throws DomainError `NOT_FOUND`, `INVALID_STATE`, `BAD_REQUEST` if another merchant has the linked account
 */
export async function changeMerchantStatus(
  { sql, actor, alongside }: MerchantAdminDeps,
  merchantId: string,
  change: StatusChange,
  { reason, linkedAccount, gateway, seen, mail }: StatusDetails = {},
): Promise<MerchantRow> {
  const { to, from } = STATUS_CHANGES[change];
  const details = {
    status: to,
    reason: reason ?? null,
    linkedAccounts: linkedAccount ? { production: linkedAccount.account.linkedAccountId } : {},
    ...(gateway && { gateway }),
  };
  const changed = await givingAccount(
    linkedAccount?.account,
    () => sql`
    WITH changed AS (
      UPDATE merchants SET status = ${to}, status_reason = ${reason ?? null},
        gateway = coalesce(${gateway ?? null}, gateway)
      WHERE merchant_id = ${merchantId} AND status::text = ANY(${[...from]})
        ${seen ? sql`AND status = ${seen.status} AND submissions = ${seen.submissions}` : sql``}
      RETURNING *
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, ${`merchant.${change}`}, merchant_id, ${sql.json(details)} FROM changed
    )
    ${linkedAccount ? accountChange(sql, linkedAccount, 'changed') : sql``}
    ${to === 'APPROVED' ? sql`, woken AS (${wakeWaitingReleases(sql)})` : sql``}
    ${mail ? sql`, mailed AS (${mailRow(sql, mail, 'changed')})` : sql``}
    ${alongsideQuery(sql, alongside, 'changed')}
    SELECT FROM changed ${linkedAccount ? sql`, linked` : sql``} ${andAlongside(sql, alongside)}`,
  );
  if (changed.length === 0) return refuseChange(sql, merchantId, change, seen);
  return requireMerchant(sql, merchantId);
}

/** Wakes the orders whose release waited until the merchant was active. */
function wakeWaitingReleases(sql: Sql) {
  return sql`
    INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
    SELECT order_number, 'release', '', service_now()
    FROM changed JOIN shared.orders o USING (merchant_id)
    WHERE o.environment IN ('sandbox', 'production') AND is_release_due(o)
    ON CONFLICT (order_number, cause, cause_id) DO UPDATE SET due_at = excluded.due_at`;
}

async function refuseChange(
  sql: Sql,
  merchantId: string,
  change: StatusChange,
  seen: StatusDetails['seen'],
): Promise<never> {
  const { status, submissions } = await requireMerchant(sql, merchantId);
  if (seen && (seen.status !== status || seen.submissions !== submissions)) {
    const message = `Cannot ${change}; the merchant has changed since you opened the page, and is ${status}`;
    throw new DomainError('INVALID_STATE', message);
  }
  const allowed = STATUS_CHANGES[change].from.join(' or ');
  const message = `Cannot ${change}; merchant must be ${allowed}, and is ${status}`;
  throw new DomainError('INVALID_STATE', message);
}

export interface LinkedAccountDeps
  extends MerchantAdminDeps, AccountChangeDeps, Pick<MailDeps, 'mails'> {}

/**
 * Sets the account that a gateway pays out to in production, whatever the merchant's status. The merchant's first
 * account there is active immediately. A later one waits for LINKED_ACCOUNT_CHANGE_SECONDS, and replaces one that
 * waits. Setting the active account again withdraws the one that waits. Each change is mailed to the merchant.
 *
 * @param account from `checkLinkedAccount`, which asks the gateway
 * @param seen as in `prepareAccountChange`
 * @returns when the account becomes or became active
 * @throws DomainError `NOT_FOUND`, `BAD_REQUEST` if another merchant has the account, `INVALID_STATE` if the
 * merchant's account was changed at the same moment
 */
export async function setLinkedAccount(
  deps: LinkedAccountDeps,
  merchantId: string,
  account: CheckedAccount,
  seen?: PresentAccounts,
): Promise<{ activeFrom: Date }> {
  const { sql, actor, alongside } = deps;
  const { gateway, linkedAccountId } = account;
  const change = await prepareAccountChange(deps, merchantId, account, seen);
  const details = { gateway, linkedAccountId, ...change.seen };
  const [changed] = await givingAccount(
    account,
    () => sql<{ activeFrom: Date }[]>`
    WITH merchant AS (
      SELECT merchant_id FROM merchants WHERE merchant_id = ${merchantId}
    )
    ${accountChange(sql, change, 'merchant')},
    audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'merchant.linkedAccount', merchant_id,
        ${sql.json(details)} || jsonb_build_object('activeFrom', active_from)
      FROM merchant, linked
    ) ${alongsideQuery(sql, alongside, 'linked')}
    SELECT active_from FROM linked ${andAlongside(sql, alongside)}`,
  );
  if (!changed) throw merchantNotFound(merchantId);
  if (change.mail) startMail(deps, change.mail);
  return changed;
}
