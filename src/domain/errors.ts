/**
 * The one error vocabulary: an `ErrorCode` is the `code` of a `DomainError`, the `type` of a
 * Temporal `ApplicationFailure`, and the key under which `src/http/errors.ts` finds status and body.
 */
export const ERROR_CODES = [
  'VALIDATION_FAILED',
  'BAD_REQUEST',
  'INVALID_STATE',
  'UNSUPPORTED_API_VERSION',
  'UNAUTHORIZED',
  'MERCHANT_NOT_APPROVED',
  'MERCHANT_NOT_ACTIVE',
  'ORIGIN_NOT_ALLOWED',
  'ORDER_NOT_YOURS',
  'NOT_FOUND',
  'ORDER_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'PAYMENT_SESSION_EXPIRED',
  'REQUEST_TOO_SLOW',
  'BODY_TOO_LARGE',
  'TOO_MANY_REQUESTS',
  'HEADERS_TOO_LARGE',
  'INTERNAL',
  'GATEWAY_UNAVAILABLE',
  'PAYMENTS_NOT_AVAILABLE',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What GATEWAY_UNAVAILABLE says, from the API and from the workflow. */
export const GATEWAY_AWAY =
  'The UPI payment gateway is temporarily unavailable; retry after a few minutes';

/** An expected refusal: `message` is safe to show to a merchant as it is. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
