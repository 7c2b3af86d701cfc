import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that can stop and resume listening. */
export interface Listener {
  readonly server: Server;
  /** `http://host:port`, with the actual port. */
  url(): string;
  open: () => Promise<void>;
  /** Stops listening and closes all connections. */
  close: () => Promise<void>;
}

/** Creates a listener, which always uses the same port. */
export function createListener(
  server: Server,
  { host, port }: { host: string; port: number },
): Listener {
  let actualPort = port;
  const urlHost = host.includes(':') ? `[${host}]` : host;
  return {
    server,
    url: () => `http://${urlHost}:${actualPort}`,
    async open() {
      if (server.listening) return;
      server.listen({ host, port: actualPort });
      await once(server, 'listening');
      ({ port: actualPort } = server.address() as AddressInfo);
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
