export interface ErrorFacts {
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  readonly code: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly requestId?: string | undefined;
  readonly isRetryable?: boolean;
  readonly cause?: unknown;
}

/** Every error of this client. */
export class PayordersError extends Error {
  override readonly name = 'PayordersError';
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /**
   * The word of `X-Error-Code`, such as `INVALID_STATE`; or, of this client, `NO_RESPONSE`,
   * `IDEMPOTENCY_KEY_MISMATCH` (the key was used with another body, whose result stands), `WRONG_ENVIRONMENT`, and
   * `MALFORMED_CREDENTIALS`, `MALFORMED_BASE_URL` and `MALFORMED_IDEMPOTENCY_KEY`, which cost no request.
   */
  readonly code: string;
  /** The violation of each invalid field. */
  readonly fields: Readonly<Record<string, string>>;
  /** The id of the request, to quote to the operator of the service. */
  readonly requestId: string | undefined;
  /** True if the same request may succeed later. This client has already retried it. */
  readonly isRetryable: boolean;

  constructor(message: string, facts: ErrorFacts) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause });
    this.status = facts.status;
    this.code = facts.code;
    this.fields = facts.fields ?? {};
    this.requestId = facts.requestId;
    this.isRetryable = facts.isRetryable ?? false;
  }
}

/**
 * Statuses after which the same request may succeed. Source: the specification; 503 and 504 are those of proxies, and so
 * is a success without JSON.
 */
const RETRYABLE = [429, 500, 502, 503, 504];

type Json = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** The error for a response. Its body may have any of the service's three forms, or be absent. */
export function errorOf(status: number, headers: Headers, body: unknown): PayordersError {
  const json: Json = typeof body === 'object' && body !== null ? (body as Json) : {};
  const { message, error, validationErrors } = json;
  const fields = (validationErrors ?? {}) as Record<string, string>;
  const violations = Object.entries(fields).map(([name, violation]) => `${name} ${violation}`);
  const text = textOf(message) ?? textOf(error) ?? `The service answered ${status}`;
  return new PayordersError([text, violations.join(', ')].filter(Boolean).join(': '), {
    status,
    code: headers.get('X-Error-Code') ?? `HTTP_${status}`,
    fields,
    requestId: headers.get('X-Request-Id') ?? undefined,
    isRetryable: RETRYABLE.includes(status) || (status >= 200 && status < 300),
  });
}
