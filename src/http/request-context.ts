import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/** What is known of the work under way; it stands in every log line about it. */
export interface RequestFields {
  readonly requestId?: string;
  readonly merchantId?: string;
  readonly orderNumber?: string;
}

const current = new AsyncLocalStorage<RequestFields>();

/** Source: the contract's "Errors the specification does not list". */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** The `X-Request-Id` that a client sent if we may keep it, else a new one. */
export function requestIdFrom(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
}

/** Does the work of one request: everything that it calls knows the request's fields. */
export function runWithRequestId<Result>(requestId: string, work: () => Result): Result {
  return current.run({ requestId }, work);
}

/** Does work about one order, without a request or as a part of one. */
export function runWithOrderNumber<Result>(orderNumber: string, work: () => Result): Result {
  return current.run({ ...current.getStore(), orderNumber }, work);
}

/** Adds what has become known of the request, such as its merchant; nothing outside of one. */
export function addRequestFields(fields: Omit<RequestFields, 'requestId'>): void {
  const known = current.getStore();
  if (known) Object.assign(known, fields);
}

/** The fields of the work under way, for its log lines; none outside of any. */
export function requestFields(): RequestFields {
  return { ...current.getStore() };
}
