import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { freePort } from './ports.ts';

function placeOf(target: string): { host: string; port: number } {
  const { hostname, port } = new URL(`tcp://${target}`);
  return { host: hostname, port: Number(port) };
}

/**
 * Starts a TCP proxy on the loopback interface, between two programs, which its user can interrupt. While it
 * refuses connections its port stays reserved: see {@link freePort}.
 *
 * @param target host:port of the server behind the proxy
 */
export async function startTcpProxy(target: string) {
  const sockets = new Set<Socket>();
  let place = placeOf(target);
  let hanging = false;

  function adopt(socket: Socket, peer: Socket): void {
    sockets.add(socket);
    socket.on('data', (chunk) => peer.write(chunk));
    socket.on('error', () => peer.destroy());
    socket.on('end', () => peer.end());
    socket.on('close', () => {
      sockets.delete(socket);
      peer.destroy();
    });
    if (hanging) socket.pause();
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const upstream = connect({ ...place, noDelay: true });
    adopt(client, upstream);
    adopt(upstream, client);
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');

  const closeConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  const closeAll = async () => {
    const closed = server.listening ? once(server, 'close') : undefined;
    server.close();
    closeConnections();
    await closed;
  };
  return {
    /** host:port on which the proxy listens. */
    address: `127.0.0.1:${port}`,
    port,
    /** Accepts connections and bytes and forwards nothing, like a network that drops packets. */
    hang(): void {
      hanging = true;
      for (const socket of sockets) socket.pause();
    },
    /** Closes every connection and refuses new ones, like a server that is down. */
    refuse: closeAll,
    /** Forwards again, also what was held back. */
    async forward(): Promise<void> {
      hanging = false;
      for (const socket of sockets) socket.resume();
      if (server.listening) return;
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    /** Closes every connection; new ones go to another server. @param newTarget its host:port */
    retarget(newTarget: string): void {
      place = placeOf(newTarget);
      closeConnections();
    },
    stop: closeAll,
  };
}

/** See {@link startTcpProxy}. */
export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;
