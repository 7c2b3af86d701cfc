import type { Logger } from 'pino';
import { DomainError, GATEWAY_AWAY } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';

/** The status and default message of every error code. No other place maps codes to statuses. */
export const ERRORS = {
  VALIDATION_FAILED: { status: 400, message: 'Validation failed' },
  BAD_REQUEST: { status: 400, message: 'Bad request' },
  INVALID_STATE: { status: 400, message: "The order's current status does not allow this" },
  CURSOR_EXPIRED: { status: 400, message: 'Start again with createdFrom' },
  UNSUPPORTED_API_VERSION: { status: 400, message: 'Unsupported API version' },
  UNAUTHORIZED: { status: 401, message: 'Invalid API key or secret' },
  MERCHANT_NOT_APPROVED: { status: 403, message: 'Merchant must be approved first' },
  MERCHANT_NOT_ACTIVE: { status: 403, message: 'Merchant account is not active' },
  MERCHANT_NOT_READY: { status: 403, message: 'Merchant account cannot take payments yet' },
  ORIGIN_NOT_ALLOWED: { status: 403, message: 'Access denied: Origin not allowed' },
  ORDER_NOT_YOURS: {
    status: 403,
    message: 'Access denied: this order does not belong to your merchant account',
  },
  NOT_PERMITTED: { status: 403, message: 'Your role does not allow this' },
  NOT_FOUND: { status: 404, message: 'Not found' },
  ORDER_NOT_FOUND: { status: 404, message: 'Order not found' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'Method not allowed' },
  PAYMENT_SESSION_EXPIRED: { status: 408, message: 'Payment session expired' },
  REQUEST_TOO_SLOW: { status: 408, message: 'The request took too long to arrive' },
  BODY_TOO_LARGE: { status: 413, message: 'Request body is larger than 32 KiB' },
  TOO_MANY_REQUESTS: { status: 429, message: 'Too many requests. Please slow down.' },
  HEADERS_TOO_LARGE: { status: 431, message: 'Request headers are larger than 16 KiB' },
  INTERNAL: { status: 500, message: 'Internal server error' },
  GATEWAY_UNAVAILABLE: { status: 502, message: GATEWAY_AWAY },
  PAYMENTS_NOT_AVAILABLE: {
    status: 502,
    message: 'Payments are not available yet for this merchant account',
  },
} as const satisfies Record<ErrorCode, { status: number; message: string }>;

/** An error with the default message of its code. */
export function errorOf(code: ErrorCode): DomainError {
  return new DomainError(code, ERRORS[code].message);
}

/** Invalid input, with one message for each invalid field. */
export class ValidationError extends DomainError {
  readonly validationErrors: Readonly<Record<string, string>>;

  constructor(validationErrors: Readonly<Record<string, string>>) {
    super('VALIDATION_FAILED', ERRORS.VALIDATION_FAILED.message);
    this.validationErrors = validationErrors;
  }
}

/** An error whose response needs a header: `Allow`, `Retry-After` or `WWW-Authenticate`. */
export class HttpRefusal extends DomainError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    headers: Readonly<Record<string, string>>,
    message: string = ERRORS[code].message,
  ) {
    super(code, message);
    this.headers = headers;
  }
}

/** The refusal of a client that is to come back after `retryAfterSeconds`, a whole number. */
export const tooManyRequests = (retryAfterSeconds: number, message?: string) =>
  new HttpRefusal('TOO_MANY_REQUESTS', { 'Retry-After': String(retryAfterSeconds) }, message);

/**
 * RFC 9110 requires `WWW-Authenticate` in every 401; this is the one for merchants' API keys. The contract requires
 * `Retry-After` in every 500.
 */
const DEFAULT_HEADERS: Readonly<Partial<Record<ErrorCode, ErrorReply['headers']>>> = {
  UNAUTHORIZED: { 'WWW-Authenticate': 'ApiKey realm="Merchant API"' },
  INTERNAL: { 'Retry-After': '1' },
};

/** The header by which a program tells errors of one status apart. Source: the contract. */
export const errorCodeHeader = (code: ErrorCode) => ({ 'X-Error-Code': code });

/** An error response before serialisation. */
export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Builds the standard error body of the specification. */
export function standardErrorBody(message: string, now: Date): Readonly<Record<string, unknown>> {
  return { success: false, message, data: null, timestamp: now.toISOString() };
}

/** Builds the body; its shape depends on the error code alone. */
function errorBody(error: DomainError, now: Date): ErrorReply['body'] {
  if (error.code === 'TOO_MANY_REQUESTS') return { error: error.message };
  if (!(error instanceof ValidationError)) return standardErrorBody(error.message, now);
  const { message, validationErrors } = error;
  const { status } = ERRORS[error.code];
  return { message, status, error: 'Bad Request', timestamp: now.toISOString(), validationErrors };
}

/**
 * Turns a thrown value into one of the three error bodies of the specification. Only the message of
 * a `DomainError` is sent: the message of any other error could name tables or hosts.
 */
export function errorReply(error: unknown, now: Date): ErrorReply {
  const known = error instanceof DomainError ? error : errorOf('INTERNAL');
  const { status } = ERRORS[known.code];
  const own = known instanceof HttpRefusal ? known.headers : (DEFAULT_HEADERS[known.code] ?? {});
  const headers = { ...own, ...errorCodeHeader(known.code) };
  return { status, headers, body: errorBody(known, now) };
}

/**
 * Logs unexpected errors with their stack, and expected ones of status 500 and above as warnings.
 */
export function logError(log: Logger, error: unknown): void {
  if (!(error instanceof DomainError)) log.error({ err: error }, 'Unexpected error');
  else if (ERRORS[error.code].status >= 500) log.warn({ err: error }, error.message);
}
