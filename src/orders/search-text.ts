/** What the text of a search may be, in the form in which orders store it. */
export type SearchCriterion =
  | { kind: 'orderNumber'; value: string }
  | { kind: 'merchantOrderId'; value: string }
  /** Compared without regard to case. */
  | { kind: 'email'; value: string }
  /** +91 and ten digits. */
  | { kind: 'phone'; value: string }
  /** The UTR of a payment, or the reference of a settlement outside the gateway. */
  | { kind: 'utr'; value: string };

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
  const digits = PHONE.exec(typed.replaceAll(/[\s()-]/g, ''))?.[1];
  return [
    ...(digits === undefined ? [] : [{ kind: 'phone', value: `+91${digits}` } as const]),
    ...(UTR.test(typed) ? [{ kind: 'utr', value: typed } as const] : []),
    ...(MERCHANT_ORDER_ID.test(typed) ? [{ kind: 'merchantOrderId', value: typed } as const] : []),
  ];
}
