import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that can stop and resume listening, always on the same port. */
export function createListener(server: Server, { host, port }: { host: string; port: number }) {
  let actualPort = port;
  const urlHost = host.includes(':') ? `[${host}]` : host;
  return {
    server,
    /** `http://host:port`, with the actual port. */
    url: () => `http://${urlHost}:${actualPort}`,
    async open(): Promise<void> {
      if (server.listening) return;
      server.listen({ host, port: actualPort });
      await once(server, 'listening');
      ({ port: actualPort } = server.address() as AddressInfo);
    },
    /** Stops listening and closes all connections. */
    async close(): Promise<void> {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
