import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { ErrorCode } from '../../domain/errors.ts';
import { isLimited } from '../define-route.ts';
import type { Reply, Route } from '../define-route.ts';
import { ERRORS } from './errors.ts';

/** Errors that any path can return, also before a route is matched. */
const EVERY_ROUTE: readonly ErrorCode[] = [
  'BAD_REQUEST',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TOO_SLOW',
  'BODY_TOO_LARGE',
  'HEADERS_TOO_LARGE',
  'INTERNAL',
];

/**
 * Errors that any merchant route can return before its handler runs, in the order of the checks.
 */
const MERCHANT_ROUTES: readonly ErrorCode[] = [
  'TOO_MANY_REQUESTS',
  'UNAUTHORIZED',
  'MERCHANT_NOT_APPROVED',
  'MERCHANT_NOT_ACTIVE',
  'ORIGIN_NOT_ALLOWED',
  'UNSUPPORTED_API_VERSION',
];

/** Every error code that a route can return, sorted by status: common ones and its own. */
export function errorsOf(route: Route): ErrorCode[] {
  const isMerchant = route.base !== 'root';
  const takesInput = route.params ?? route.query ?? route.headers ?? route.body;
  const codes = new Set<ErrorCode>([...EVERY_ROUTE, ...(route.errors ?? [])]);
  if (isMerchant) for (const code of MERCHANT_ROUTES) codes.add(code);
  if (isLimited(route) || route.bodyType === 'multipart') codes.add('TOO_MANY_REQUESTS');
  if (takesInput) codes.add('VALIDATION_FAILED');
  return [...codes].sort((left, right) => ERRORS[left].status - ERRORS[right].status);
}

/** A response that contradicts the route's declaration. */
class UndocumentedResponseError extends Error {
  override readonly name = 'UndocumentedResponseError';
}

const undocumented = (route: Route, problem: string) =>
  new UndocumentedResponseError(`${route.operationId} responded with ${problem}`);

/** Refuses additional fields too: a response contains documented fields only. */
function assertBody(route: Route, reply: Reply, schema: z.ZodType): void {
  const onTheWire: unknown = JSON.parse(JSON.stringify(reply.body));
  const parsed = schema.safeParse(onTheWire);
  if (!parsed.success) throw undocumented(route, `${reply.status}: ${parsed.error.message}`);
  if (!isDeepStrictEqual(parsed.data, onTheWire)) {
    throw undocumented(route, `${reply.status} with fields that its schema does not have`);
  }
}

/**
 * Compares a response with the declaration of its route: status, headers and body.
 *
 * @throws UndocumentedResponseError naming the operation and the difference.
 */
export function assertDocumented(route: Route, reply: Reply): void {
  const declared = route.responses[reply.status];
  if (!declared) throw undocumented(route, `${reply.status}, which it does not declare`);
  const isOther = declared.alsoAs !== undefined && declared.alsoAs === reply.contentType;
  if (declared.contentType !== undefined || isOther) return;
  const headers = declared.headers?.strict().safeParse(reply.headers ?? {});
  if (headers && !headers.success) throw undocumented(route, `headers: ${headers.error.message}`);
  if (!headers && Object.keys(reply.headers ?? {}).length > 0) {
    throw undocumented(route, `headers that it does not declare`);
  }
  assertBody(route, reply, declared.schema);
}

/**
 * Compares the status of an error response with the errors that its route declares.
 *
 * @throws UndocumentedResponseError if the route does not list an error of this status.
 */
export function assertDocumentedError(route: Route, status: number): void {
  if (!errorsOf(route).some((code) => ERRORS[code].status === status)) {
    throw undocumented(route, `${status}, but none of its errors has that status`);
  }
}
