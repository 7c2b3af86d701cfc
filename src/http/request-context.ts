import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { createReports } from '../reports.ts';

/** Fields of the current request or order; every log line of its work has them. */
export interface RequestFields {
  readonly requestId?: string;
  readonly merchantId?: string;
  readonly orderNumber?: string;
  /** The user of the dashboard. */
  readonly userId?: string;
}

const current = new AsyncLocalStorage<RequestFields>();

/** Source: the contract's "Errors the specification does not list". */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** The client's `X-Request-Id` if it is valid, else a new one. */
export function requestIdFrom(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
}

/**
 * Runs the work of one request. {@link requestFields} returns its fields in everything it calls.
 */
export function runWithRequestId<Result>(requestId: string, work: () => Result): Result {
  return current.run({ requestId }, work);
}

/** Runs work on one order, inside or outside of a request. */
export function runWithOrderNumber<Result>(orderNumber: string, work: () => Result): Result {
  return current.run({ ...current.getStore(), orderNumber }, work);
}

/** Adds fields to the current request, such as its merchant. Does nothing outside of a request. */
export function addRequestFields(fields: Omit<RequestFields, 'requestId'>): void {
  const known = current.getStore();
  if (known) Object.assign(known, fields);
}

/** The fields of the current work, for its log lines; empty outside of a request. */
export function requestFields(): RequestFields {
  return { ...current.getStore() };
}

/** A request that was answered, without anything of its client. */
interface AnsweredRequest {
  readonly method: string;
  /** The declared path; undefined if no route matched. */
  readonly route: string | undefined;
  readonly status: number;
  readonly durationMs: number;
}

const ANSWERED = createReports<AnsweredRequest>('request-answered');

/** Reports a request that was answered. It costs nothing while there is no listener. */
export const publishAnswered = ANSWERED.publish;

/** Calls `listener` for each request that this process answers. @returns a function that unsubscribes */
export const onRequestAnswered = ANSWERED.subscribe;
