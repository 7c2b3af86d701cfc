import type { Sql } from '../db/client.ts';
import type { Environment, OrderStatus } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';

/** What an operator knows of an order; what is absent matches all, and one must be there. */
export interface OrderClues {
  orderNumber?: string | undefined;
  /** The merchant's own id: not unique, not even with one merchant. */
  merchantOrderId?: string | undefined;
  /** In any mixture of capital and small letters. */
  email?: string | undefined;
  /** With or without its country code, spaces and dashes. */
  phone?: string | undefined;
  /** Of the buyer's payment, or of a settlement outside the gateway. */
  utr?: string | undefined;
  merchantId?: string | undefined;
  environment?: Environment | undefined;
}

/** An order as a list of search results shows it. */
export interface FoundOrder {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  merchantOrderId: string | null;
  status: OrderStatus;
  amountPaise: number;
  buyerEmail: string;
  buyerPhone: string;
  createdAt: Date;
}

/** @throws Error when there is no such order: workflows name only orders that have a row */
export async function findOrderByNumber(sql: Sql, orderNumber: string): Promise<OrderRow> {
  const [row] = await sql<OrderRow[]>`SELECT * FROM orders WHERE order_number = ${orderNumber}`;
  if (!row) throw new Error(`Order ${orderNumber} has no row`);
  return row;
}

/**
 * Orders of any merchant, the newest first. Each clue has an index of its own.
 *
 * @returns at most `limit`, and whether there are more
 * @throws DomainError `BAD_REQUEST` without any clue: that would list every order there is
 */
export async function findOrders(
  sql: Sql,
  clues: OrderClues,
  limit: number,
): Promise<{ orders: FoundOrder[]; hasMore: boolean }> {
  const { orderNumber, merchantOrderId, email, phone, utr, merchantId, environment } = clues;
  if ([orderNumber, merchantOrderId, email, phone, utr].every((clue) => clue === undefined)) {
    const message = 'Say what to look for: --order, --merchant-order-id, --email, --phone or --utr';
    throw new DomainError('BAD_REQUEST', message);
  }
  const rows = await sql<FoundOrder[]>`
    SELECT order_number, merchant_id, environment, merchant_order_id, status, amount_paise,
      buyer_email, buyer_phone, created_at
    FROM orders
    WHERE true
      ${orderNumber === undefined ? sql`` : sql`AND order_number = ${orderNumber}`}
      ${merchantOrderId === undefined ? sql`` : sql`AND merchant_order_id = ${merchantOrderId}`}
      ${email === undefined ? sql`` : sql`AND lower(buyer_email) = lower(${email})`}
      ${phone === undefined ? sql`` : sql`AND buyer_phone = ${phoneOf(phone)}`}
      ${utr === undefined ? sql`` : sql`AND order_number IN (${ordersWithUtr(sql, utr)})`}
      ${merchantId === undefined ? sql`` : sql`AND merchant_id = ${merchantId}`}
      ${environment === undefined ? sql`` : sql`AND environment = ${environment}`}
    ORDER BY created_at DESC, order_number DESC LIMIT ${limit + 1}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}

function ordersWithUtr(sql: Sql, utr: string) {
  return sql`
    SELECT order_number FROM payments WHERE utr = ${utr}
    UNION ALL SELECT order_number FROM outside_settlements WHERE reference = ${utr}`;
}

/** As orders have it: +91 and ten digits. */
function phoneOf(text: string): string {
  const digits = text.replaceAll(/[\s()-]/g, '');
  return /^\d{10}$/.test(digits) ? `+91${digits}` : digits;
}

/** Operators name an order by its number alone. @throws DomainError `ORDER_NOT_FOUND` */
export async function findOrderAnywhere(sql: Sql, orderNumber: string): Promise<OrderRow> {
  const [row] = await sql<OrderRow[]>`SELECT * FROM orders WHERE order_number = ${orderNumber}`;
  if (!row) throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  return row;
}
