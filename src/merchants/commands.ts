import { ulid } from 'ulid';
import { z } from 'zod';
import type { Sql } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { MerchantRow, MerchantStatus } from './queries.ts';
import { findMerchant, merchantNotFound } from './queries.ts';

/** Who does it: everything here leaves an audit row in the same statement. */
export interface MerchantAdminDeps {
  sql: Sql;
  actor: string;
}

const newMerchantSchema = z.object({
  name: z
    .string()
    .trim()
    .min(1, 'name must not be blank')
    .max(200, 'name must be at most 200 characters'),
  email: z.email('email must be a valid email address').max(254),
});

/** What changes a merchant's status, and from which statuses it may. */
const STATUS_CHANGES = {
  /** Of an approved merchant it only adds a linked account. */
  approve: { to: 'APPROVED', from: ['PENDING', 'REJECTED', 'APPROVED'] },
  /** Also takes an approval back: what is under way runs on as for a suspended merchant. */
  reject: { to: 'REJECTED', from: ['PENDING', 'REJECTED', 'APPROVED', 'SUSPENDED'] },
  suspend: { to: 'SUSPENDED', from: ['APPROVED', 'SUSPENDED'] },
  activate: { to: 'APPROVED', from: ['SUSPENDED', 'APPROVED'] },
} as const satisfies Record<string, { to: MerchantStatus; from: readonly MerchantStatus[] }>;

/** An operator's decision about a merchant. */
export type StatusChange = keyof typeof STATUS_CHANGES;

/**
 * Registers a merchant, who may do nothing until it is approved.
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
      INSERT INTO audit_log (actor, action, merchant_id)
      VALUES (${actor}, 'merchant.create', ${merchantId})
    )
    INSERT INTO merchants (merchant_id, name, email) VALUES (${merchantId}, ${name}, ${email})
    RETURNING *`;
  if (!row) throw new Error('INSERT … RETURNING always answers');
  return row;
}

/**
 * Approves, rejects, suspends or activates a merchant.
 *
 * The linked account is what the gateway pays out to in production. Approval does without it,
 * because the sandbox makes its own: but until it is given, no production order can be paid
 * (`reserve_payment_session`).
 *
 * @throws DomainError `NOT_FOUND`, `INVALID_STATE`, `BAD_REQUEST`
 */
export async function changeMerchantStatus(
  { sql, actor }: MerchantAdminDeps,
  merchantId: string,
  change: StatusChange,
  {
    reason,
    linkedAccountId,
  }: { reason?: string | undefined; linkedAccountId?: string | undefined } = {},
): Promise<MerchantRow> {
  const { to, from } = STATUS_CHANGES[change];
  const linkedAccounts = linkedAccountOf(linkedAccountId);
  const details = { status: to, reason: reason ?? null, linkedAccounts };
  const [row] = await sql<MerchantRow[]>`
    WITH changed AS (
      UPDATE merchants SET status = ${to}, status_reason = ${reason ?? null},
        linked_accounts = linked_accounts || ${sql.json(linkedAccounts)}
      WHERE merchant_id = ${merchantId} AND status::text = ANY(${[...from]})
      RETURNING *
    ), audited AS (
      INSERT INTO audit_log (actor, action, merchant_id, details)
      SELECT ${actor}, ${`merchant.${change}`}, merchant_id, ${sql.json(details)} FROM changed
    )
    SELECT * FROM changed`;
  return row ?? refuseChange(sql, merchantId, change);
}

function linkedAccountOf(linkedAccountId: string | undefined): { production?: string } {
  if (linkedAccountId === undefined) return {};
  if (/^[A-Za-z0-9_-]{1,64}$/.test(linkedAccountId)) return { production: linkedAccountId };
  throw new DomainError('BAD_REQUEST', 'The linked account must be an id of the gateway: acc_…');
}

async function refuseChange(sql: Sql, merchantId: string, change: StatusChange): Promise<never> {
  const merchant = await findMerchant(sql, merchantId);
  if (!merchant) throw merchantNotFound(merchantId);
  const allowed = STATUS_CHANGES[change].from.join(' or ');
  const message = `Cannot ${change}; merchant must be ${allowed}, and is ${merchant.status}`;
  throw new DomainError('INVALID_STATE', message);
}
