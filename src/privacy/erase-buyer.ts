import { DomainError } from '../domain/index.ts';
import type { Sql } from '../db/client.ts';
import type { Erasure, ErasureDeps } from './erase-order.ts';
import { checkReason, checkReasonFor, eraseOrder } from './erase-order.ts';

/** Identifies a buyer. Orders with either value are the buyer's. */
export interface Buyer {
  email: string;
  /** With or without its country code, spaces and dashes. */
  phone?: string | undefined;
}

/**
 * Finds the orders of a buyer at all merchants, in both environments, the oldest first.
 *
 * @throws DomainError `BAD_REQUEST` for an e-mail address or a phone number that no order can have
 */
export async function findOrdersOfBuyer(sql: Sql, buyer: Buyer): Promise<string[]> {
  const { email, phone } = keysOf(buyer);
  const byPhone =
    phone === null
      ? sql``
      : sql`
    UNION SELECT order_number FROM orders WHERE buyer_phone = ${phone}`;
  const rows = await sql<{ orderNumber: string }[]>`
    SELECT order_number FROM orders WHERE lower(buyer_email) = lower(${email}) ${byPhone}
    ORDER BY order_number`;
  return rows.map(({ orderNumber }) => orderNumber);
}

/**
 * Erases the data of a buyer in all orders that are final and wait for nothing. The others are refused, each with
 * its reasons; a repeat then finds only those.
 *
 * @throws DomainError `BAD_REQUEST`
 */
export async function eraseBuyer(
  deps: ErasureDeps,
  buyer: Buyer,
  reason: string,
): Promise<Erasure[]> {
  const { email, phone } = keysOf(buyer);
  checkReason(reason, [email, phone?.slice('+91'.length) ?? '']);
  const orderNumbers = await findOrdersOfBuyer(deps.sql, buyer);
  // All before the first one is erased: the name of a later order must not be in its audit row.
  for (const orderNumber of orderNumbers) await checkReasonFor(deps.sql, orderNumber, reason);
  const erasures: Erasure[] = [];
  for (const orderNumber of orderNumbers) {
    erasures.push(await eraseOrder(deps, orderNumber, reason));
  }
  return erasures;
}

/** The e-mail address and the phone number in the form in which orders store them. */
function keysOf({ email, phone }: Buyer): { email: string; phone: string | null } {
  if (!/^[^\s@]+@[^\s@]+$/.test(email))
    throw new DomainError('BAD_REQUEST', '--email is no e-mail address');
  if (phone === undefined) return { email, phone: null };
  const digits = /^(?:\+?91|0)?(\d{10})$/.exec(phone.replaceAll(/[\s()-]/g, ''))?.[1];
  if (digits === undefined) throw new DomainError('BAD_REQUEST', '--phone is no phone number');
  return { email, phone: `+91${digits}` };
}
