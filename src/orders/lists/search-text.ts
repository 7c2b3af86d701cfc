import type { Sql } from '../../db/client.ts';

/** One thing that identifies an order, in the form in which orders store it. */
export interface SearchCriterion {
  /** `utr`: the UTR of a payment, or the reference of a settlement outside the gateway. */
  kind: 'orderNumber' | 'merchantOrderId' | 'email' | 'phone' | 'utr';
  value: string;
}

/** The form of `newOrderNumber`: ORD and a ULID, whose alphabet has no I, L, O and U. */
const ORDER_NUMBER = /^ORD[0-9A-HJKMNP-TV-Z]{26}$/i;
/** The same form as in the body of POST /orders. */
const MERCHANT_ORDER_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** A UTR or a bank's reference: letters and digits, some of them digits. */
const UTR = /^(?=.*\d)[A-Za-z0-9]{6,64}$/;
const PHONE = /^(?:\+?91|0)?(\d{10})$/;

/**
 * Recognises what a person typed or pasted into the one search box. Digits alone may be several things
 * at once: twelve of them may be a UTR, a merchant's own id, or a phone number with its country code.
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
    ...(UTR.test(typed) ? [{ kind: 'utr', value: typed } as const] : []),
    ...(MERCHANT_ORDER_ID.test(typed) ? [{ kind: 'merchantOrderId', value: typed } as const] : []),
  ];
}

/** A phone number, with or without its country code, as +91 and ten digits; undefined if it is none. */
export function phoneOf(text: string): string | undefined {
  const digits = PHONE.exec(text.replaceAll(/[\s()-]/g, ''))?.[1];
  return digits && `+91${digits}`;
}

/** The condition of one thing that identifies an order; each has its index. */
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
      return sql`order_number IN (SELECT order_number FROM payments WHERE utr = ${value}
        UNION ALL SELECT order_number FROM outside_settlements WHERE reference = ${value})`;
  }
}
