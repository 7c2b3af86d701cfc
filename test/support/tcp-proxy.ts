import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A TCP proxy between two programs that a test can interrupt. */
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
  stop(): Promise<void>;
}

/** @param target host:port of the server behind the proxy */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname: host, port: targetPort } = new URL(`tcp://${target}`);
  const sockets = new Set<Socket>();
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
    const upstream = connect({ host, port: Number(targetPort), noDelay: true });
    adopt(client, upstream);
    adopt(upstream, client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const closeAll = async () => {
    const closed = server.listening ? once(server, 'close') : undefined;
    server.close();
    for (const socket of sockets) socket.destroy();
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
    stop: closeAll,
  };
}
