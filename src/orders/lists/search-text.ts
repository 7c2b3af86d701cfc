import type { Sql } from '../../db/client.ts';

/** A value that identifies orders, in the form in which orders store it. */
export interface SearchCriterion {
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
export function criterionCondition(sql: Sql, { kind, value }: SearchCriterion) {
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
