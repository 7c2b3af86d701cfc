import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A TCP proxy between two programs that its user can interrupt. */
export interface TcpProxy {
  /** host:port on which the proxy listens. */
  readonly address: string;
  readonly port: number;
  /** Accepts connections and bytes and forwards nothing, like a network that drops packets. */
  hang(): void;
  /** Closes every connection and refuses new ones, like a server that is down. */
  refuse(): Promise<void>;
  /** Forwards again, also what was held back. */
  forward(): Promise<void>;
  /** Closes every connection; new ones go to another server. @param target its host:port */
  retarget(target: string): void;
  stop(): Promise<void>;
}

function placeOf(target: string): { host: string; port: number } {
  const { hostname, port } = new URL(`tcp://${target}`);
  return { host: hostname, port: Number(port) };
}

/**
 * Starts a proxy on the loopback interface.
 *
 * @param target host:port of the server behind the proxy
 * @param wantedPort any free port by default
 */
export async function startTcpProxy(target: string, wantedPort = 0): Promise<TcpProxy> {
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
  }).listen(wantedPort, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

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
    address: `127.0.0.1:${port}`,
    port,
    hang() {
      hanging = true;
      for (const socket of sockets) socket.pause();
    },
    refuse: closeAll,
    async forward() {
      hanging = false;
      for (const socket of sockets) socket.resume();
      if (server.listening) return;
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    retarget(newTarget) {
      place = placeOf(newTarget);
      closeConnections();
    },
    stop: closeAll,
  };
}
