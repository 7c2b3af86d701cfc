import { Agent } from 'node:http';
import type { ClientRequest, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebhookConnection } from './webhook-connection.ts';

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

/** Options for the agent, in addition to Node's own. */
export interface WebhookRequestOptions extends RequestOptions {
  target: URL;
  /** Aborts the opening of the request's connection. */
  closing: AbortSignal;
}

/**
 * Node's pool of connections, with connections that the guard has checked. It keeps no state for an origin without
 * connections. It also limits the number of idle connections over 100,000 origins, and their age.
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
