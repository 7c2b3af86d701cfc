import type { Client } from 'undici';

/** One HTTP/1.1 connection to one origin, used by one webhook at a time. */
export interface Connection {
  readonly origin: string;
  readonly client: Client;
  readonly openedAtMs: number;
  /** The number of webhooks sent over it so far. */
  exchangeCount: number;
  /** Closes it immediately, also in the middle of an exchange. */
  destroy(): void;
}

/** How connections are opened and how many are kept. */
export interface ConnectionOptions {
  /** Creates the client of a new connection and its connector; `signal` ends both. */
  openClient(origin: string, signal: AbortSignal): Client;
  /** Idle connections kept over all origins; the least recently used is closed first. */
  maxIdleConnections: number;
  /** A connection older than this is not reused, so that a receiver can move by DNS. */
  maxConnectionAgeMs: number;
}

/** See {@link createConnections}. */
export type Connections = ReturnType<typeof createConnections>;

function openConnection(origin: string, openClient: ConnectionOptions['openClient']): Connection {
  const ending = new AbortController();
  const client = openClient(origin, ending.signal);
  return {
    origin,
    client,
    openedAtMs: performance.now(),
    exchangeCount: 0,
    destroy() {
      ending.abort();
      void client.destroy();
    },
  };
}

/**
 * A pool that keeps connections for the next webhook to the same origin.
 *
 * It replaces undici's Agent because it must know whether a connection was used before (closing an
 * idle connection is not a failed attempt), limit the idle connections over 100,000 origins, and
 * keep no state for an origin without connections.
 */
export function createConnections(options: ConnectionOptions) {
  /** The least recently used origin first; each entry has at least one connection. */
  const idleByOrigin = new Map<string, Connection[]>();
  let idleCount = 0;

  function remove(connection: Connection): void {
    const idle = idleByOrigin.get(connection.origin) ?? [];
    const index = idle.indexOf(connection);
    if (index === -1) return;
    idle.splice(index, 1);
    idleCount -= 1;
    if (idle.length === 0) idleByOrigin.delete(connection.origin);
  }

  function discard(connection: Connection): void {
    remove(connection);
    connection.destroy();
  }

  function discardLeastRecent(): void {
    const [least] = idleByOrigin.values().next().value ?? [];
    if (least !== undefined) discard(least);
  }

  /** Opens a new connection, even if one is idle. */
  function open(origin: string): Connection {
    const connection = openConnection(origin, options.openClient);
    connection.client.on('disconnect', () => {
      if (idleByOrigin.get(origin)?.includes(connection)) discard(connection);
    });
    return connection;
  }

  return {
    open,
    discard,

    /** The most recently used idle connection, which is the most likely to be open, or a new one. */
    take(origin: string): Connection {
      const connection = idleByOrigin.get(origin)?.at(-1);
      if (connection === undefined) return open(origin);
      remove(connection);
      return connection;
    },

    /** Returns a connection to the pool for another webhook, or closes it when it is too old. */
    keep(connection: Connection): void {
      if (performance.now() - connection.openedAtMs > options.maxConnectionAgeMs) {
        connection.destroy();
        return;
      }
      const idle = idleByOrigin.get(connection.origin) ?? [];
      idleByOrigin.delete(connection.origin);
      idleByOrigin.set(connection.origin, [...idle, connection]);
      idleCount += 1;
      if (idleCount > options.maxIdleConnections) discardLeastRecent();
    },

    /** The number of idle connections and of their origins. */
    stats: () => ({ originCount: idleByOrigin.size, connectionCount: idleCount }),

    /** Closes all idle connections. */
    close(): void {
      while (idleCount > 0) discardLeastRecent();
    },
  };
}
