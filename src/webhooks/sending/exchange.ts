import type { Dispatcher } from 'undici';
import type { Connection } from './connections.ts';
import { secondsText, TimeoutFault } from './faults.ts';

/** A POST request before its origin is known. */
export interface OutgoingRequest {
  /** Path and query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** The response to a webhook, as far as it was received. */
export interface WebhookResponse {
  /** Of the final response; `null` when there was none. */
  statusCode: number | null;
  /** The bytes that were read. */
  body: Buffer;
  /** Why the response is incomplete; `null` when it is complete or reached `maxResponseBytes`. */
  fault: Error | null;
  /** True when the connection can carry another request. */
  reusable: boolean;
}

/** Reads a response up to a number of bytes and discards the rest. */
class ResponseReader implements Dispatcher.DispatchHandler {
  readonly response: Promise<WebhookResponse>;
  readonly #settle: (response: WebhookResponse) => void;
  readonly #maxResponseBytes: number;
  readonly #chunks: Buffer[] = [];
  #byteCount = 0;
  #statusCode: number | null = null;

  constructor(maxResponseBytes: number) {
    const { promise, resolve } = Promise.withResolvers<WebhookResponse>();
    this.response = promise;
    this.#settle = resolve;
    this.#maxResponseBytes = maxResponseBytes;
  }

  // undici recognizes the current handler interface by this method.
  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    // An interim response (1xx) is not the final one.
    if (statusCode >= 200) this.#statusCode = statusCode;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#byteCount <= this.#maxResponseBytes) this.#chunks.push(chunk);
    this.#byteCount += chunk.length;
    if (this.#byteCount > this.#maxResponseBytes) this.end({ fault: null, reusable: false });
  }

  onResponseEnd(): void {
    this.end({ fault: null, reusable: true });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end({ fault: error, reusable: false });
  }

  /** Settles the response with the bytes so far; only the first call has an effect. */
  end({ fault, reusable }: Pick<WebhookResponse, 'fault' | 'reusable'>): void {
    const body = Buffer.concat(this.#chunks).subarray(0, this.#maxResponseBytes);
    this.#settle({ statusCode: this.#statusCode, body, fault, reusable });
  }
}

/**
 * Posts a request over a connection and reads at most `maxResponseBytes` of the response. Never
 * throws: an error becomes the response's `fault`. The caller destroys a connection whose response
 * is not `reusable`.
 *
 * @param limits.totalTimeoutMs one limit for connecting, headers and body, which slow bytes do not
 *   extend; it starts at `limits.startedAtMs`, on the clock of `performance.now()`
 */
export async function exchange(
  connection: Connection,
  request: OutgoingRequest,
  limits: { startedAtMs: number; totalTimeoutMs: number; maxResponseBytes: number },
): Promise<WebhookResponse> {
  const reader = new ResponseReader(limits.maxResponseBytes);
  const { startedAtMs, totalTimeoutMs } = limits;
  const endOnTimeout = () => {
    const reason = `no complete answer within ${secondsText(totalTimeoutMs)}`;
    reader.end({ fault: new TimeoutFault(reason), reusable: false });
  };
  const leftMs = startedAtMs + totalTimeoutMs - performance.now();
  const timer = setTimeout(endOnTimeout, leftMs);
  connection.client.dispatch({ ...request, method: 'POST' }, reader);
  const response = await reader.response;
  clearTimeout(timer);
  connection.exchangeCount += 1;
  return response;
}
