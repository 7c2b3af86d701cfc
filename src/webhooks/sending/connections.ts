import { Agent } from 'node:http';
import type { ClientRequest, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { incompleteAnswer } from './faults.ts';
import { plainHeadText, ResponseHeadReader } from './response-head.ts';
import type { ResponseHead } from './response-head.ts';

/** A connection is closed this long before the receiver closes it, because a request takes a while to arrive. */
const KEEP_ALIVE_MARGIN_MS = 1000;

export interface ConnectionOptions {
  /** Opens a connection that the guard has checked. `signal` aborts it. */
  connect(target: URL, signal: AbortSignal): Promise<Socket>;
  maxHeaderBytes: number;
  /** The number of idle connections kept over all origins. The least recently used is closed first. */
  maxIdleConnections: number;
  /** How long an idle connection is kept if the receiver does not say. */
  keepAliveTimeoutMs: number;
  /** An older connection is not reused, so that a receiver can move by DNS. */
  maxConnectionAgeMs: number;
}

export interface WebhookRequestOptions extends RequestOptions {
  target: URL;
  /** Aborts the opening of the request's connection. */
  closing: AbortSignal;
}

/**
 * A connection for Node's HTTP client whose response heads are read by {@link ResponseHeadReader}. Node's parser
 * refuses some complete heads, such as one with two equal lengths, and its lenient mode accepts lines that end in LF
 * alone; docs/adr/0007-sending-webhooks.md has the comparison.
 *
 * It fails with the reader's `DeliveryFault` or the socket's error. After a whole head has come, every end of the
 * socket only ends the body.
 */
class WebhookConnection extends Duplex {
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
    else if (this.#reader.hasBegun) this.destroy(incompleteAnswer(error));
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

/**
 * Node's pool of connections, with connections that the guard has checked. It keeps no state for an origin without
 * connections. It also limits the number of idle connections over all origins, and their age.
 */
export class WebhookAgent extends Agent {
  readonly #options: ConnectionOptions;
  /** Ordered by last use, the least recently used first. */
  readonly #idle = new Set<WebhookConnection>();

  /** @param options.keepAlive whether connections are kept for the next webhook */
  constructor(options: ConnectionOptions & { keepAlive: boolean }) {
    super({ keepAlive: options.keepAlive });
    this.#options = options;
  }
  idleStats(): { originCount: number; connectionCount: number } {
    const open = [...this.#idle].filter(({ destroyed }) => !destroyed);
    const origins = new Set(open.map(({ origin }) => origin));
    return { originCount: origins.size, connectionCount: open.length };
  }

  override getName(options?: RequestOptions): string {
    return (options as WebhookRequestOptions).target.origin;
  }

  override createConnection(
    options: RequestOptions,
    callback: (error: Error | null, connection: Duplex) => void,
  ): undefined {
    const { target, closing } = options as WebhookRequestOptions;
    this.#open(target, closing).then(
      (connection) => callback(null, connection),
      // Node does not use the connection after an error.
      (error: unknown) => callback(error as Error, undefined as never),
    );
  }

  async #open(target: URL, closing: AbortSignal): Promise<WebhookConnection> {
    const socket = await this.#options.connect(target, closing);
    const { origin } = target;
    const connection = new WebhookConnection(socket, {
      origin,
      maxHeadBytes: this.#options.maxHeaderBytes,
    });
    connection.once('close', () => this.#idle.delete(connection));
    return connection;
  }

  override keepSocketAlive(connection: WebhookConnection): boolean {
    const { keepAliveTimeoutMs, maxConnectionAgeMs, maxIdleConnections } = this.#options;
    const { keepAliveMs, openedAtMs } = connection;
    const announcedMs = keepAliveMs === null ? null : keepAliveMs - KEEP_ALIVE_MARGIN_MS;
    const leftMs = maxConnectionAgeMs - (performance.now() - openedAtMs);
    const durationMs = Math.min(announcedMs ?? keepAliveTimeoutMs, leftMs);
    if (durationMs <= 0) return false;
    connection.rest(durationMs);
    this.#idle.add(connection);
    if (this.#idle.size > maxIdleConnections) this.#idle.values().next().value?.destroy();
    return true;
  }

  override reuseSocket(connection: WebhookConnection, request: ClientRequest): void {
    super.reuseSocket(connection, request);
    this.#idle.delete(connection);
    connection.wake();
  }
}
