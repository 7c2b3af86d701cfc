import type { Actor } from '../db/actor.ts';
import type { Sql } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import { findOrderAnywhere } from '../orders/public.ts';

/** `actor` is the name that the audit log records. */
export interface ErasureDeps {
  sql: Sql;
  actor: Actor;
}

/** The result for one order. */
export interface Erasure {
  orderNumber: string;
  /** `erased_before`: nothing was left to erase. `refused`: the data is still needed. */
  outcome: 'erased' | 'erased_before' | 'refused';
  /** Why it was refused. */
  reasons: string[];
}

/** A row of the SQL function `reasons_to_keep`. */
interface ReasonToKeep {
  kind: keyof typeof REASONS;
  subject: string | null;
}

const REASONS = {
  not_final: (status) => `it is ${status}, which is not final`,
  pending_operation: (kind) => `it is ${kind} at the gateway`,
  not_woken: (cause) => `its workflow has yet to look at a ${cause}: try again in a minute`,
  delivery_pending: (id) => `its webhook ${id} waits: it is sent, or fails after the fifth attempt`,
  attempt_under_way: (id) => `an attempt of ${id} is under way: try again in ten minutes`,
  session_opening: (id) => `payment session ${id} is being opened: try again in ten minutes`,
  capture_unapplied: (id) => `payment ${id} is neither applied nor refunded`,
  refund_pending: (id) => `the refund of payment ${id} is under way`,
  reversal_open: (id) => `${id}, a refund or chargeback at the gateway, has not ended`,
  alert_open: (kind) => `its alert ${kind} is open: see admin alert list`,
} as const satisfies Record<string, (subject: string) => string>;

const MAX_REASON_LENGTH = 1000;
/** Shorter names, such as Om, also occur in other words, and are not searched for. */
const MIN_NAME_LENGTH = 5;
/** The country code before a phone number's digits. */
const COUNTRY_CODE = '+91';

/** @throws DomainError `ORDER_NOT_FOUND`; `BAD_REQUEST` for a reason that contains the data of the order's buyer */
export async function checkReasonFor(sql: Sql, orderNumber: string, reason: string): Promise<void> {
  const { buyerEmail, buyerPhone, buyerName } = await findOrderAnywhere(sql, orderNumber);
  const name = buyerName.length < MIN_NAME_LENGTH ? '' : buyerName;
  checkReason(reason, [buyerEmail, buyerPhone.replace(COUNTRY_CODE, ''), name]);
}

/**
 * Erases the buyer's data of an order, in one statement that refuses it while the data is needed, with an audit row.
 * Ids, amounts, times, the ledger and the audit log stay. A repeat changes nothing.
 *
 * @param reason the operator's, such as the number of the buyer's request
 * @throws DomainError `ORDER_NOT_FOUND`; `BAD_REQUEST` for a reason that contains the buyer's data
 */
export async function eraseOrder(
  { sql, actor }: ErasureDeps,
  orderNumber: string,
  reason: string,
): Promise<Erasure> {
  await checkReasonFor(sql, orderNumber, reason);
  const [row] = await sql<
    { result: { outcome: Erasure['outcome'] | 'unknown'; reasons?: ReasonToKeep[] } }[]
  >`SELECT erase_order(${orderNumber}, ${actor.name}, ${actor.address}, ${reason}) AS result`;
  const { outcome = 'unknown', reasons = [] } = row?.result ?? {};
  if (outcome === 'unknown') throw new Error(`Order ${orderNumber} has no row`);
  return {
    orderNumber,
    outcome,
    reasons: reasons.map(({ kind, subject }) => REASONS[kind](subject ?? '')),
  };
}

/**
 * Checks an operator's reason. It stays in the audit log, so it must not contain the buyer's data.
 *
 * @throws DomainError `BAD_REQUEST`
 */
export function checkReason(reason: string, buyerData: readonly string[]): void {
  if (reason.trim() === '' || reason.length > MAX_REASON_LENGTH || reason.includes('\0')) {
    const message = `The reason must have 1 to ${MAX_REASON_LENGTH} characters, and not be blank`;
    throw new DomainError('BAD_REQUEST', message);
  }
  const written = reason.toLowerCase();
  const isPersonal = buyerData.some(
    (text) => text.trim() !== '' && written.includes(text.trim().toLowerCase()),
  );
  if (!isPersonal) return;
  const message = "The reason stays in the audit log: leave out the buyer's name, e-mail and phone";
  throw new DomainError('BAD_REQUEST', message);
}
