import { Agent } from 'node:http';
import type { ClientRequest, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebhookConnection } from './webhook-connection.ts';

/** A connection is given up this long before the receiver does, because a request takes a while to arrive. */
const KEEP_ALIVE_MARGIN_MS = 1000;

/** How connections are opened and how many are kept. */
export interface ConnectionOptions {
  /** Opens a connection that the guard has checked; `signal` ends the opening. */
  connect(target: URL, signal: AbortSignal): Promise<Socket>;
  maxHeaderBytes: number;
  /** Idle connections kept over all origins; the least recently used is closed first. */
  maxIdleConnections: number;
  /** For how long an idle connection is kept when the receiver does not say. */
  keepAliveTimeoutMs: number;
  /** A connection older than this is not reused, so that a receiver can move by DNS. */
  maxConnectionAgeMs: number;
}

/** What a request tells its agent, beside Node's own options. */
export interface WebhookRequestOptions extends RequestOptions {
  target: URL;
  /** Ends the opening of the request's connection. */
  closing: AbortSignal;
}

/**
 * Node's pool of connections, over the guard's connections. It keeps no state for an origin without
 * connections. Beyond Node's, it limits the idle connections over 100,000 origins, and their age.
 */
export class WebhookAgent extends Agent {
  readonly #options: ConnectionOptions;
  /** The least recently used first. */
  readonly #idle = new Set<WebhookConnection>();

  /** @param options.keepAlive whether connections are kept for the next webhook at all */
  constructor(options: ConnectionOptions & { keepAlive: boolean }) {
    super({ keepAlive: options.keepAlive });
    this.#options = options;
  }

  /** The numbers of idle connections and of their origins. */
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
      // Node reads no connection after an error.
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
