import type { Sql } from '../db/client.ts';
import type { Environment, OrderStatus } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';

/** An operator's search; an absent field matches all. {@link findOrders} says which are required. */
export interface OrderSearch {
  orderNumber?: string | undefined;
  /** The merchant's own id, which need not be unique. */
  merchantOrderId?: string | undefined;
  /** Compared without regard to case. */
  email?: string | undefined;
  /** With or without its country code, spaces and dashes. */
  phone?: string | undefined;
  /** The UTR of the payment, or the reference of a settlement outside the gateway. */
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
  /** When the buyer's data was erased. */
  erasedAt: Date | null;
  createdAt: Date;
}

/**
 * Finds an order that a workflow or a stored row names.
 *
 * @throws Error when the order has no row: a fault, never a client's error
 */
export async function findOrderByNumber(sql: Sql, orderNumber: string): Promise<OrderRow> {
  const row = await findRow(sql, orderNumber);
  if (!row) throw new Error(`Order ${orderNumber} has no row`);
  return row;
}

/**
 * Finds the order that an operator names. Operators see every merchant and environment.
 *
 * @throws DomainError `ORDER_NOT_FOUND`
 */
export async function findOrderAnywhere(sql: Sql, orderNumber: string): Promise<OrderRow> {
  const row = await findRow(sql, orderNumber);
  if (!row) throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  return row;
}

async function findRow(sql: Sql, orderNumber: string): Promise<OrderRow | undefined> {
  const [row] = await sql<OrderRow[]>`SELECT * FROM orders WHERE order_number = ${orderNumber}`;
  return row;
}

/**
 * Finds orders of any merchant, the newest first. Each required criterion has its own index.
 *
 * @returns at most `limit` orders, and whether there are more
 * @throws DomainError `BAD_REQUEST` unless order number, merchant's id, email, phone or UTR is given:
 *   without one of them the query would scan every order
 */
export async function findOrders(
  sql: Sql,
  search: OrderSearch,
  limit: number,
): Promise<{ orders: FoundOrder[]; hasMore: boolean }> {
  const { orderNumber, merchantOrderId, email, phone, utr, merchantId, environment } = search;
  const criteria = [orderNumber, merchantOrderId, email, phone, utr];
  if (criteria.every((criterion) => criterion === undefined)) {
    const message = 'Say what to look for: --order, --merchant-order-id, --email, --phone or --utr';
    throw new DomainError('BAD_REQUEST', message);
  }
  const rows = await sql<FoundOrder[]>`
    SELECT order_number, merchant_id, environment, merchant_order_id, status, amount_paise,
      buyer_email, buyer_phone, erased_at, created_at
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

/** Selects the orders with a payment of this UTR, or a settlement with this reference. */
export function ordersWithUtr(sql: Sql, utr: string) {
  return sql`
    SELECT order_number FROM payments WHERE utr = ${utr}
    UNION ALL SELECT order_number FROM outside_settlements WHERE reference = ${utr}`;
}

/** Normalises a phone number to the form that orders store: +91 and ten digits. */
function phoneOf(text: string): string {
  const digits = text.replaceAll(/[\s()-]/g, '');
  return /^\d{10}$/.test(digits) ? `+91${digits}` : digits;
}
