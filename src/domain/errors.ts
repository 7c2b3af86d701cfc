/**
 * An `ErrorCode` is the `code` of a `DomainError`, the `type` of a Temporal `ApplicationFailure`, and the key of its
 * HTTP status and body in `src/http/responses/errors.ts`.
 */
export const ERROR_CODES = [
  'VALIDATION_FAILED',
  'BAD_REQUEST',
  'INVALID_STATE',
  'CURSOR_EXPIRED',
  'UNSUPPORTED_API_VERSION',
  'UNAUTHORIZED',
  'MERCHANT_NOT_APPROVED',
  'MERCHANT_NOT_ACTIVE',
  'MERCHANT_NOT_READY',
  'ORIGIN_NOT_ALLOWED',
  'ORDER_NOT_YOURS',
  'NOT_PERMITTED',
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

/** The message of GATEWAY_UNAVAILABLE, in the API and in the workflow. */
export const GATEWAY_AWAY =
  'The UPI payment gateway is temporarily unavailable; retry after a few minutes';

/** An expected refusal. Its `message` may be shown to a merchant. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
