import type { Dispatcher } from 'undici';
import type { Connection } from './connections.ts';
import { secondsText, TimeoutFault } from './faults.ts';

export interface Message {
  /** Path and query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface Answer {
  /** Of the final answer; `null` when none came. */
  statusCode: number | null;
  /** As many of its bytes as were read. */
  body: Buffer;
  /** Why the answer is not whole; `null` for one that is, or that we cut short ourselves. */
  fault: Error | null;
  /** True when the connection can carry another request. */
  reusable: boolean;
}

/** Reads an answer up to a number of bytes, then lets go of the rest. */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly answer: Promise<Answer>;
  readonly #settle: (answer: Answer) => void;
  readonly #maxAnswerBytes: number;
  readonly #chunks: Buffer[] = [];
  #byteCount = 0;
  #statusCode: number | null = null;

  constructor(maxAnswerBytes: number) {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.answer = promise;
    this.#settle = resolve;
    this.#maxAnswerBytes = maxAnswerBytes;
  }

  // undici asks for it to tell this interface from the one before.
  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    // Interim answers (1xx) are not the answer.
    if (statusCode >= 200) this.#statusCode = statusCode;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#byteCount <= this.#maxAnswerBytes) this.#chunks.push(chunk);
    this.#byteCount += chunk.length;
    if (this.#byteCount > this.#maxAnswerBytes) this.end(null, false);
  }

  onResponseEnd(): void {
    this.end(null, true);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end(error, false);
  }

  /** Settles the answer with what has come so far; the first call counts. */
  end(fault: Error | null, reusable: boolean): void {
    const body = Buffer.concat(this.#chunks).subarray(0, this.#maxAnswerBytes);
    this.#settle({ statusCode: this.#statusCode, body, fault, reusable });
  }
}

/**
 * Posts a message over a connection and reads the answer, of which no more than `maxAnswerBytes`
 * are kept. Never throws: what goes wrong is the answer's `fault`. A connection whose answer is
 * not `reusable` is still busy, and the caller's to destroy.
 *
 * @param limits.totalTimeoutMs one limit for connecting, headers and body, which no drip of bytes
 *   extends; it runs from `limits.startedAtMs`, on the clock of `performance.now()`
 */
export async function exchange(
  connection: Connection,
  message: Message,
  limits: { startedAtMs: number; totalTimeoutMs: number; maxAnswerBytes: number },
): Promise<Answer> {
  const reader = new AnswerReader(limits.maxAnswerBytes);
  const { startedAtMs, totalTimeoutMs } = limits;
  const endTooLate = () => {
    const reason = `no complete answer within ${secondsText(totalTimeoutMs)}`;
    reader.end(new TimeoutFault(reason), false);
  };
  const leftMs = startedAtMs + totalTimeoutMs - performance.now();
  const timer = setTimeout(endTooLate, leftMs);
  connection.client.dispatch({ ...message, method: 'POST' }, reader);
  const answer = await reader.answer;
  clearTimeout(timer);
  connection.exchangeCount += 1;
  return answer;
}
