import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { IncompleteAnswerFault } from './faults.ts';
import { plainHeadText, ResponseHeadReader } from './response-head.ts';
import type { ResponseHead } from './response-head.ts';

/**
 * A connection for Node's HTTP client whose response heads are read by {@link ResponseHeadReader}. Node's parser
 * refuses some complete heads, such as one with two equal lengths, and its lenient mode accepts lines that end in LF
 * alone; docs/adr/0007-sending-webhooks.md has the comparison.
 *
 * It fails with the reader's `DeliveryFault` or the socket's error. After a whole head has come, every end of the
 * socket only ends the body.
 */
export class WebhookConnection extends Duplex {
  readonly openedAtMs = performance.now();
  readonly origin: string;
  readonly #socket: Socket;
  readonly #maxHeadBytes: number;
  #state: 'head' | 'body' | 'idle' = 'head';
  #reader: ResponseHeadReader;
  /** The latest final head. */
  #head: ResponseHead | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, options: { origin: string; maxHeadBytes: number }) {
    super();
    this.origin = options.origin;
    this.#socket = socket;
    this.#maxHeadBytes = options.maxHeadBytes;
    this.#reader = new ResponseHeadReader(options.maxHeadBytes);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onEnd());
    socket.on('error', (error) => this.#onEnd(error));
  }

  /** How long the receiver keeps idle connections: see {@link ResponseHead}. */
  get keepAliveMs(): number | null {
    return this.#head?.keepAliveMs ?? null;
  }

  /** Closes the connection after this time, or as soon as the receiver sends anything or closes it. */
  rest(durationMs: number): void {
    this.#state = 'idle';
    this.#idleTimer = setTimeout(() => this.destroy(), durationMs);
  }

  /** Expects the response to the next request. */
  wake(): void {
    clearTimeout(this.#idleTimer);
    this.#state = 'head';
    this.#reader = new ResponseHeadReader(this.#maxHeadBytes);
  }

  /** Called by `http.Agent` for a connection that is used again: see `net.Socket.ref`. */
  ref(): void {
    this.#socket.ref();
  }

  #onData(chunk: Buffer): void {
    if (this.#state === 'idle') this.destroy();
    else if (this.#state === 'body') this.#forward(chunk);
    else this.#readHead(chunk);
  }

  #readHead(chunk: Buffer): void {
    try {
      const final = this.#reader.read(chunk);
      if (final === undefined) return;
      this.#state = 'body';
      this.#head = final.head;
      this.#forward(Buffer.concat([Buffer.from(plainHeadText(final.head)), final.rest]));
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #forward(chunk: Buffer): void {
    if (!this.push(chunk)) this.#socket.pause();
  }

  #onEnd(error?: Error): void {
    if (this.#state === 'body') this.push(null);
    else if (this.#state === 'idle') this.destroy();
    else if (this.#reader.hasBegun) this.destroy(new IncompleteAnswerFault({ cause: error }));
    else if (error === undefined) this.push(null);
    else this.destroy(error);
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(
    chunk: Buffer,
    _encoding: string,
    callback: (error?: Error | null) => void,
  ): void {
    this.#socket.write(chunk, callback);
  }

  /** Sends head and body of a request in one packet where they fit. */
  override _writev(chunks: { chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.#idleTimer);
    this.#socket.destroy();
    callback(error);
  }
}
