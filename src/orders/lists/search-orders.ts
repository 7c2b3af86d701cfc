import type { Sql } from '../../db/client.ts';
import type { ListPage, ListPart } from '../../db/list-part.ts';
import { pageOf, rowsToRead } from '../../db/list-part.ts';
import type { Environment, OrderStatus } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';

/** The owner of the orders. Every query of a merchant's pages has it as a condition. */
export interface OrderOwner {
  merchantId: string;
  environment: Environment;
}

/** Which of a merchant's orders to find. An absent field matches all. */
export interface MerchantSearch {
  /** An order number, the merchant's own id, an e-mail address, a phone number or a UTR. */
  text?: string | undefined;
  status?: OrderStatus | undefined;
  /** Inclusive. */
  createdFrom?: Date | undefined;
  /** Exclusive. */
  createdTo?: Date | undefined;
}

interface SearchPart {
  /** Only orders older than this order of the merchant. */
  before?: string | undefined;
  limit: number;
}

/**
 * SQL: finds the keys of a merchant's orders, at most `limit`, newest first. It begins at a key instead of an offset,
 * so the cost does not depend on how many orders come before the part.
 */
export function foundQuery(
  sql: Sql,
  owner: OrderOwner,
  { text = '', ...filter }: MerchantSearch,
  part: SearchPart,
) {
  const conditions = conditionsOf(sql, owner, filter, part.before);
  const columns = sql`created_at, order_number, amount_paise`;
  const newest = newestOf(sql, part);
  if (text.trim() === '') return sql`SELECT ${columns} FROM orders WHERE ${conditions} ${newest}`;
  // Each criterion has its own index, which an OR of them would not use.
  const found = recogniseSearch(text).reduce(
    (others, criterion) => sql`${others} UNION (SELECT ${columns} FROM orders
      WHERE ${conditions} AND ${criterionCondition(sql, criterion)} ${newest})`,
    sql`SELECT ${columns} FROM orders WHERE false`,
  );
  return sql`SELECT ${columns} FROM (${found}) AS any_criterion ${newest}`;
}

const newestOf = (sql: Sql, { limit }: SearchPart) =>
  sql`ORDER BY created_at DESC, order_number DESC LIMIT ${limit}`;

function conditionsOf(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  { status, createdFrom, createdTo }: Omit<MerchantSearch, 'text'>,
  before: string | undefined,
) {
  const own = sql`merchant_id = ${merchantId} AND environment = ${environment}`;
  const to = createdTo ? sql`${createdTo}::timestamptz` : sql`'infinity'::timestamptz`;
  // One comparison for both upper bounds: with two, the scan would begin at the later one. The key is read in the
  // same statement, and only if it is the merchant's own order.
  const key = sql`(SELECT least(created_at, ${to}),
      CASE WHEN created_at < ${to} THEN order_number ELSE '' END
    FROM orders WHERE order_number = ${before ?? ''} AND ${own})`;
  // A subquery, because the planner does not know its value. For a frequent status it would otherwise take the index
  // without the status, and read every newer order that is not in it.
  return sql`${own}
    ${status === undefined ? sql`` : sql`AND status = (SELECT ${status}::order_status)`}
    ${createdFrom === undefined ? sql`` : sql`AND created_at >= ${createdFrom}`}
    ${createdTo === undefined || before !== undefined ? sql`` : sql`AND created_at < ${to}`}
    ${before === undefined ? sql`` : sql`AND (created_at, order_number) < ${key}`}`;
}

/** An operator's search in the orders of all merchants. An absent field matches all. */
interface OperatorSearch {
  /** An order number, a merchant's own id, an e-mail address, a phone number, a UTR or another reference. */
  text?: string | undefined;
  merchantId?: string | undefined;
}

/**
 * Finds orders of all merchants and both environments, newest first.
 *
 * @param part.after the number of the last order of the previous part
 */
export async function searchAllOrders(
  sql: Sql,
  search: OperatorSearch,
  part: ListPart,
): Promise<ListPage<OrderRow>> {
  const sources = sourcesOf(sql, search, part.after);
  const [first] = sources;
  if (first === undefined) return pageOf<OrderRow>([], part);
  const most = rowsToRead(part);
  // Each part reads the newest rows of one index.
  const newest = sources.map(
    ({ condition, older, order }) => sql`
      (SELECT order_number, created_at FROM orders
      WHERE ${condition} ${part.after === undefined ? sql`` : older}
      ORDER BY ${order} LIMIT ${most})`,
  );
  const union = newest.reduce((all, source) => sql`${all} UNION ${source}`);
  const found = await sql<{ orderNumber: string }[]>`
    SELECT order_number FROM (${union}) found
    ORDER BY ${first.order} LIMIT ${most}`;
  const page = pageOf(found, part);
  return { ...page, rows: await readFound(sql, page.rows) };
}

function sourcesOf(sql: Sql, { text = '', merchantId }: OperatorSearch, after = '') {
  const ofMerchant = merchantId ? sql`AND merchant_id = ${merchantId}` : sql``;
  const byTime = {
    order: sql`created_at DESC, order_number DESC`,
    older: sql`AND (created_at, order_number)
      < ((SELECT created_at FROM orders WHERE order_number = ${after}), ${after})`,
  };
  if (text.trim() !== '') {
    return recogniseSearch(text).map((criterion) => ({
      condition: sql`${criterionCondition(sql, criterion)} ${ofMerchant}`,
      ...byTime,
    }));
  }
  if (merchantId) {
    return (['sandbox', 'production'] as const).map((environment) => ({
      condition: sql`merchant_id = ${merchantId} AND environment = ${environment}`,
      ...byTime,
    }));
  }
  // Order numbers sort by time, and no other index has all orders by time.
  const byNumber = { order: sql`order_number DESC`, older: sql`AND order_number < ${after}` };
  return [{ condition: sql`true`, ...byNumber }];
}

/** A value that identifies orders, in the form in which orders store it. */
interface SearchCriterion {
  /**
   * `utr`: the UTR of a payment, or the reference of a settlement outside the gateway. `reference`: the id of
   * something that belongs to one order, see `ordersOfReference`.
   */
  kind: 'orderNumber' | 'merchantOrderId' | 'email' | 'phone' | 'utr' | 'reference';
  value: string;
}

/** An order number: ORD and a ULID, whose alphabet has no I, L, O and U. */
const ORDER_NUMBER = /^ORD[0-9A-HJKMNP-TV-Z]{26}$/i;
/** A merchant's own id, as in the body of POST /orders, or a reference, such as an `X-Request-Id`. */
const ID = /^[A-Za-z0-9._-]{1,64}$/;
/** A UTR or a bank's reference: letters and digits, at least some digits. */
const UTR = /^[A-Za-z0-9]{6,64}$/;
const PHONE = /^(?:\+?91|0)?(\d{10})$/;

/**
 * Recognises what a person typed or pasted into the search box. A text may match several criteria: twelve digits may
 * be a UTR, a merchant's own id, or a phone number with its country code.
 *
 * @returns the criteria, any of which an order may meet; empty if no order can have this text
 */
export function recogniseSearch(text: string): SearchCriterion[] {
  const typed = text.trim();
  if (ORDER_NUMBER.test(typed)) return [{ kind: 'orderNumber', value: typed.toUpperCase() }];
  if (typed.includes('@')) return [{ kind: 'email', value: typed }];
  const phone = phoneOf(typed);
  return [
    ...(phone === undefined ? [] : [{ kind: 'phone', value: phone } as const]),
    ...(UTR.test(typed) && /\d/.test(typed) ? [{ kind: 'utr', value: typed } as const] : []),
    ...(ID.test(typed)
      ? (['merchantOrderId', 'reference'] as const).map((kind) => ({ kind, value: typed }))
      : []),
  ];
}

/** A phone number, with or without its country code, as +91 and ten digits; undefined if it is none. */
function phoneOf(text: string): string | undefined {
  const digits = PHONE.exec(text.replaceAll(/[\s()-]/g, ''))?.[1];
  return digits && `+91${digits}`;
}

/** SQL: the condition of one criterion. Each has its own index. */
function criterionCondition(sql: Sql, { kind, value }: SearchCriterion) {
  switch (kind) {
    case 'orderNumber':
      return sql`order_number = ${value}`;
    case 'merchantOrderId':
      return sql`merchant_order_id = ${value}`;
    case 'email':
      return sql`lower(buyer_email) = lower(${value})`;
    case 'phone':
      return sql`buyer_phone = ${value}`;
    case 'utr':
      return sql`order_number IN (SELECT order_number FROM shared.payments WHERE utr = ${value}
        UNION ALL SELECT order_number FROM shared.outside_settlements WHERE reference = ${value}
        UNION ALL SELECT order_number FROM shared.surplus_refunds WHERE reference = ${value})`;
    case 'reference':
      // An array, because the planner overestimates the few rows of a subquery.
      return sql`order_number = ANY (ARRAY(${ordersOfReference(sql, value)}))`;
  }
}

/**
 * The numbers of the orders that an id belongs to. The id is that of a request that wrote something, an event, a
 * delivery, a payment session, a payment, its transfer or latest refund, or a reversal. Other ids that a gateway
 * names in a callback, such as that of a failed payment, are found as long as callbacks are kept. An id of the
 * platform is in every callback, so a limit of a few rows applies. The CTE stops the planner from scanning the table
 * because of that limit.
 */
const ordersOfReference = (sql: Sql, id: string) => sql`
  WITH callbacks AS MATERIALIZED (
    SELECT gateway, named_ids FROM shared.gateway_callbacks WHERE named_ids @> ${[id]}
  )
  SELECT order_number FROM order_steps WHERE request_id = ${id}
  UNION ALL SELECT order_number FROM order_commands WHERE request_id = ${id}
  UNION ALL SELECT order_number FROM shared.payment_sessions WHERE request_id = ${id}
  UNION ALL SELECT order_number FROM shared.payment_sessions WHERE session_id = ${id}
  UNION ALL SELECT order_number FROM shared.order_events WHERE event_id = ${id}
  UNION ALL SELECT order_number FROM shared.webhook_deliveries JOIN shared.order_events USING (event_id)
    WHERE delivery_id = ${id}
  UNION ALL SELECT order_number FROM shared.payments WHERE gateway_payment_id = ${id}
  UNION ALL SELECT order_number FROM shared.payments WHERE gateway_transfer_id = ${id}
  UNION ALL SELECT order_number FROM shared.payments WHERE gateway_refund_id = ${id}
  UNION ALL SELECT order_number FROM shared.gateway_reversals WHERE reversal_id = ${id}
  UNION ALL SELECT named.order_number
    FROM (SELECT * FROM callbacks LIMIT 20) c,
      LATERAL (SELECT unnest(c.named_ids) AS order_number
        UNION ALL SELECT p.order_number FROM shared.payments p
          WHERE p.gateway = c.gateway AND p.gateway_payment_id = ANY (c.named_ids)) named`;

/** Reads the orders that a list has found, in the given order. */
export async function readFound(
  sql: Sql,
  found: readonly Pick<OrderRow, 'orderNumber'>[],
): Promise<OrderRow[]> {
  const numbers = found.map(({ orderNumber }) => orderNumber);
  return sql<OrderRow[]>`
    SELECT o.* FROM unnest(${numbers}::text[]) WITH ORDINALITY AS listed (order_number, place)
      JOIN orders_with_dispute o USING (order_number)
    ORDER BY place`;
}
