import type { Client } from 'undici';

/** One HTTP/1.1 connection to one origin, used by one webhook at a time. */
export interface Connection {
  readonly origin: string;
  readonly client: Client;
  readonly openedAtMs: number;
  /** Webhooks it has carried so far. */
  exchangeCount: number;
  /** Closes it at once, whatever it is doing. */
  destroy(): void;
}

export interface ConnectionOptions {
  /** Makes the client of a new connection, and its connector; `signal` ends both. */
  openClient(origin: string, signal: AbortSignal): Client;
  /** Idle connections kept over all origins; the least recently used goes first. */
  maxIdleConnections: number;
  /** After which a connection is not used again, so that a receiver can move by DNS. */
  maxConnectionAgeMs: number;
}

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
 * Keeps connections for the next webhook to the same origin.
 *
 * Ours, rather than undici's Agent: it must know whether a connection was used before (one that
 * its owner closed while idle is not a failed attempt), bound what is idle over 100,000 origins,
 * and hold nothing for an origin that has no connection.
 */
export function createConnections(options: ConnectionOptions) {
  /** Least recently used origin first; no origin is without a connection. */
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

  /** A connection that nobody has used, whatever is idle. */
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

    /** The idle connection used last, which is the likeliest to live still, or a new one. */
    take(origin: string): Connection {
      const connection = idleByOrigin.get(origin)?.at(-1);
      if (connection === undefined) return open(origin);
      remove(connection);
      return connection;
    },

    /** Keeps a connection that is ready for another webhook. */
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

    /** What is idle now. */
    stats: () => ({ originCount: idleByOrigin.size, connectionCount: idleCount }),

    /** Closes what is idle. */
    close(): void {
      while (idleCount > 0) discardLeastRecent();
    },
  };
}
