import { once } from 'node:events';
import type { Server } from 'node:http';

export interface Listener {
  readonly server: Server;
  /** `http://host:port`, with the port that was really taken. */
  url(): string;
  open: () => Promise<void>;
  /** Takes no connections any more and cuts those there are. */
  shut: () => Promise<void>;
  /** Shuts, and opens by itself after this long; one `open` before that wins. */
  refuseConnectionsFor: (durationMs: number) => void;
}

/** A server's door, which can be shut and opened again on the same port. */
export function createListener(
  server: Server,
  { host, port }: { host: string; port: number },
): Listener {
  let takenPort = port;
  let reopening: NodeJS.Timeout | undefined;
  /** Grows with each order to open or shut: a later one makes a planned reopening void. */
  let orders = 0;

  async function openNow(): Promise<void> {
    clearTimeout(reopening);
    if (server.listening) return;
    server.listen({ host, port: takenPort });
    await once(server, 'listening');
    const address = server.address();
    if (typeof address === 'object' && address !== null) takenPort = address.port;
  }

  async function shutNow(): Promise<void> {
    clearTimeout(reopening);
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  async function shutFor(durationMs: number): Promise<void> {
    orders += 1;
    const order = orders;
    await shutNow();
    if (order === orders) reopening = setTimeout(() => void openNow(), durationMs);
  }

  const urlHost = host.includes(':') ? `[${host}]` : host;
  return {
    server,
    url: () => `http://${urlHost}:${takenPort}`,
    open() {
      orders += 1;
      return openNow();
    },
    shut() {
      orders += 1;
      return shutNow();
    },
    refuseConnectionsFor: (durationMs) => void shutFor(durationMs),
  };
}
