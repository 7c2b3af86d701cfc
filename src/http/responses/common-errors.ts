import type { ErrorCode } from '../../domain/errors.ts';
import { isLimited } from '../define-route.ts';
import type { Route } from '../define-route.ts';
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

/** The statuses of all errors that a route can return. */
export function errorStatusesOf(route: Route): Set<number> {
  return new Set(errorsOf(route).map((code) => ERRORS[code].status));
}
