import { once } from 'node:events';
import type { Server } from 'node:http';

/** A server that can stop and resume listening. */
export interface Listener {
  readonly server: Server;
  /** `http://host:port`, with the actual port. */
  url(): string;
  open: () => Promise<void>;
  /** Stops listening and closes all connections. */
  close: () => Promise<void>;
  /** Closes, and opens again after this duration unless `open` or `close` is called before. */
  refuseConnectionsFor: (durationMs: number) => void;
}

/** Creates a listener, which always uses the same port. */
export function createListener(
  server: Server,
  { host, port }: { host: string; port: number },
): Listener {
  let actualPort = port;
  let reopening: NodeJS.Timeout | undefined;
  /** Counts the calls: a later call cancels a planned reopening. */
  let calls = 0;

  async function listenNow(): Promise<void> {
    clearTimeout(reopening);
    if (server.listening) return;
    server.listen({ host, port: actualPort });
    await once(server, 'listening');
    const address = server.address();
    if (typeof address === 'object' && address !== null) actualPort = address.port;
  }

  async function closeNow(): Promise<void> {
    clearTimeout(reopening);
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  async function closeFor(durationMs: number): Promise<void> {
    calls += 1;
    const call = calls;
    await closeNow();
    if (call === calls) reopening = setTimeout(() => void listenNow(), durationMs);
  }

  const urlHost = host.includes(':') ? `[${host}]` : host;
  return {
    server,
    url: () => `http://${urlHost}:${actualPort}`,
    open() {
      calls += 1;
      return listenNow();
    },
    close() {
      calls += 1;
      return closeNow();
    },
    refuseConnectionsFor: (durationMs) => void closeFor(durationMs),
  };
}
