/** A failed attempt in words that a merchant may read: it is their receiver's, or their address's. */
export class DeliveryFault extends Error {
  override readonly name: string = 'DeliveryFault';
}

/** An attempt that ended because one of its limits of time had passed. */
export class TimeoutFault extends DeliveryFault {
  override readonly name = 'TimeoutFault';
}

/**
 * Nothing was sent, for a reason of ours: it must use up none of the merchant's attempts.
 * `busy`: the endpoint, or this process, has as many webhooks under way as it may. `closed`: this
 * process is stopping. `exhausted`: it is out of sockets or memory.
 */
export class WebhookNotAttemptedError extends Error {
  override readonly name = 'WebhookNotAttemptedError';
  readonly reason: 'busy' | 'closed' | 'exhausted';
  /** Of `busy`: for how long an attempt at the endpoint holds its place, where that is known. */
  readonly expectedMs: number | null;

  constructor(
    reason: 'busy' | 'closed' | 'exhausted',
    { expectedMs = null, ...options }: ErrorOptions & { expectedMs?: number | null } = {},
  ) {
    super(`the webhook was not attempted: ${reason}`, options);
    this.reason = reason;
    this.expectedMs = expectedMs;
  }
}

/** Codes by which Node reports that our own machine is at its limits. */
const OUR_CODES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

/** Codes by which a connection ends that the other side closed. */
const CLOSED_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

const TEXT_BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the host cannot be reached',
  UND_ERR_HEADERS_OVERFLOW: "the answer's headers are too large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was shorter or longer than it said',
};

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** A limit in milliseconds, as people read it. */
export function secondsText(durationMs: number): string {
  return `${durationMs / 1000} s`;
}

/** Whether this error is the fault of our own machine and not of the receiver. */
export function isOurFault(error: Error): boolean {
  return OUR_CODES.has(codeOf(error));
}

/** Whether an attempt failed because it took too long. */
export function isTimeout(error: Error): boolean {
  return error instanceof TimeoutFault || codeOf(error) === 'ETIMEDOUT';
}

/** Whether the other side closed the connection, which it may do at any time to an idle one. */
export function isClosedByPeer(error: Error): boolean {
  return CLOSED_CODES.has(codeOf(error));
}

/** An error of the connection, in the words of the attempt log: no addresses, no stack. */
export function describeFault(error: Error): string {
  if (error instanceof DeliveryFault) return error.message;
  const code = codeOf(error);
  if (isClosedByPeer(error)) return 'the connection was closed before the answer was complete';
  if (error.name === 'HTTPParserError') return 'the answer is not valid HTTP';
  if (/CERT|SIGNED|VERIFY|CRL/.test(code)) return `the certificate is not valid (${code})`;
  if (/SSL|TLS|EPROTO/.test(code)) return `the TLS handshake failed (${code})`;
  return TEXT_BY_CODE[code] ?? `the connection failed (${code || error.name})`;
}

/** Why an answer that did arrive is not the 2xx that counts as delivered. */
export function describeStatus(statusCode: number): string {
  const isRedirect = statusCode >= 300 && statusCode < 400;
  return `answered ${statusCode}${isRedirect ? '; redirects are not followed' : ''}`;
}
