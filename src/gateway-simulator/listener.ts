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

  const open = async () => {
    clearTimeout(reopening);
    if (server.listening) return;
    server.listen({ host, port: takenPort });
    await once(server, 'listening');
    const address = server.address();
    if (typeof address === 'object' && address !== null) takenPort = address.port;
  };

  const shut = async () => {
    clearTimeout(reopening);
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };

  const urlHost = host.includes(':') ? `[${host}]` : host;
  return {
    server,
    url: () => `http://${urlHost}:${takenPort}`,
    open,
    shut,
    refuseConnectionsFor(durationMs) {
      void shut().then(() => {
        reopening = setTimeout(() => void open(), durationMs);
      });
    },
  };
}
