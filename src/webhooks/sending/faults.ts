/** A failed attempt caused by the receiver or its address. The merchant may read the message. */
export class DeliveryFault extends Error {
  override readonly name: string = 'DeliveryFault';
}

/** An attempt that exceeded one of its time limits. */
export class TimeoutFault extends DeliveryFault {
  override readonly name = 'TimeoutFault';
}

/** The fault of a connection that ended inside the answer. */
export const incompleteAnswer = (cause?: Error) =>
  new DeliveryFault('the connection was closed before the answer was complete', { cause });

/** The received bytes do not begin as an HTTP response. */
export class NotHttpFault extends DeliveryFault {
  override readonly name = 'NotHttpFault';

  constructor() {
    super('the answer is not valid HTTP');
  }
}

/**
 * Nothing was sent, for an internal reason, so none of the merchant's attempts is used up. `busy`: the endpoint or
 * this process has reached its limit of concurrent webhooks. `closed`: this process is stopping. `exhausted`: it is
 * out of sockets or memory.
 */
export class WebhookNotAttemptedError extends Error {
  override readonly name = 'WebhookNotAttemptedError';
  readonly reason: 'busy' | 'closed' | 'exhausted';

  constructor(reason: 'busy' | 'closed' | 'exhausted', options?: ErrorOptions) {
    super(`the webhook was not attempted: ${reason}`, options);
    this.reason = reason;
  }
}

/** Node's error codes for exhausted resources of this machine. */
const LOCAL_RESOURCE_CODES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

const CLOSED_CODES = new Set(['ECONNRESET', 'EPIPE']);

const TEXT_BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the host cannot be reached',
};

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

export function secondsText(durationMs: number): string {
  return `${durationMs / 1000} s`;
}

/** True if this machine, and not the receiver, caused the error. */
export function isLocalResourceError(error: Error): boolean {
  return LOCAL_RESOURCE_CODES.has(codeOf(error));
}

export function isTimeout(error: Error): boolean {
  return error instanceof TimeoutFault || codeOf(error) === 'ETIMEDOUT';
}

/** True if the peer closed the connection. It may close an idle one at any time. */
export function isClosedByPeer(error: Error): boolean {
  return CLOSED_CODES.has(codeOf(error));
}

/** The text of an error in the attempt log, without addresses or stack. */
export function describeFault(error: Error): string {
  if (error instanceof DeliveryFault) return error.message;
  const code = codeOf(error);
  if (isClosedByPeer(error)) return incompleteAnswer().message;
  if (/CERT|SIGNED|VERIFY|CRL/.test(code)) return `the certificate is not valid (${code})`;
  if (/SSL|TLS|EPROTO/.test(code)) return `the TLS handshake failed (${code})`;
  return TEXT_BY_CODE[code] ?? `the connection failed (${code || error.name})`;
}

/** The text of a status other than 2xx in the attempt log. */
export function describeStatus(statusCode: number): string {
  const isRedirect = statusCode >= 300 && statusCode < 400;
  return `answered ${statusCode}${isRedirect ? '; redirects are not followed' : ''}`;
}
