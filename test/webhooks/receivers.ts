import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server as HttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';

/** A real merchant's server on loopback; it is stopped after its test. */
export interface Receiver {
  port: number;
  connectionCount: number;
  /** The number of bytes written to connections that are now closed. */
  closedConnections: { bytesWritten: number }[];
  /** Resolves once this many connections have closed. */
  untilClosed(count: number): Promise<void>;
}

export interface Received {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** False on a machine without IPv6, which cannot run the tests of it. */
export const hasIpv6Loopback = Object.values(networkInterfaces())
  .flat()
  .some((address) => address?.address === '::1');

async function listen(server: Server, address: string, event = 'connection'): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const receiver: Receiver = {
    port: 0,
    connectionCount: 0,
    closedConnections: [],
    async untilClosed(count) {
      while (receiver.closedConnections.length < count) await once(server, 'receiver-closed');
    },
  };
  server.on(event, (socket: Socket) => {
    receiver.connectionCount += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      receiver.closedConnections.push({ bytesWritten: socket.bytesWritten });
      server.emit('receiver-closed');
    });
  });
  server.listen(0, address);
  await once(server, 'listening');
  receiver.port = (server.address() as AddressInfo).port;
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return receiver;
}

export function startTcpReceiver(
  onConnection: (socket: Socket, connectionCount: number) => void,
  address = '127.0.0.1',
): Promise<Receiver> {
  let count = 0;
  return listen(
    createTcpServer((socket) => onConnection(socket, (count += 1))),
    address,
  );
}

/** A receiver that writes `first` and then another piece every 10 ms, until its connection is closed. */
export async function startDrippingReceiver(
  first: string,
  piece: string,
): Promise<Receiver & { piecesWritten(): number }> {
  let pieces = 0;
  const receiver = await startTcpReceiver((socket) => {
    socket.resume();
    socket.write(first);
    const timer = setInterval(() => {
      socket.write(piece);
      pieces += 1;
    }, 10);
    socket.on('close', () => clearInterval(timer));
  });
  return Object.assign(receiver, { piecesWritten: () => pieces });
}

/** A receiver that answers nothing until it is released, and everything afterwards. */
export async function startHeldReceiver(): Promise<
  Receiver & { requestCount(): number; release(): void }
> {
  const released = Promise.withResolvers<void>();
  let requests = 0;
  const receiver = await startReceiver(async (_request, response) => {
    requests += 1;
    await released.promise;
    response.end();
  });
  return Object.assign(receiver, { requestCount: () => requests, release: released.resolve });
}

/** A receiver that handles HTTP requests, over TLS if it is given a certificate. */
export function startReceiver(
  listener: RequestListener,
  options: { address?: string; tls?: TlsOptions } = {},
): Promise<Receiver> {
  const server: HttpServer = options.tls
    ? createHttpsServer(options.tls, listener)
    : createHttpServer(listener);
  const { address = '127.0.0.1' } = options;
  return listen(server, address, options.tls ? 'secureConnection' : 'connection');
}

/** A receiver that records what it received and responds 200. */
export async function startRecordingReceiver(
  options: { address?: string; tls?: TlsOptions } = {},
): Promise<Receiver & { received: Received[] }> {
  const received: Received[] = [];
  const receiver = await startReceiver(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, url, headers } = request;
    received.push({ method, url, headers, body: Buffer.concat(chunks) });
    response.end('ok');
  }, options);
  return Object.assign(receiver, { received });
}

/** A new self-signed certificate for some names, never written into the project. */
export function createCertificate(...subjectAltNames: string[]): { key: string; cert: string } {
  const directory = mkdtempSync(join(tmpdir(), 'webhook-receiver-'));
  const keyFile = join(directory, 'key.pem');
  const certFile = join(directory, 'cert.pem');
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const names = ['-subj', '/CN=receiver', '-addext', `subjectAltName=${subjectAltNames.join(',')}`];
  const files = ['-keyout', keyFile, '-out', certFile];
  try {
    const options = ['-x509', '-days', '1', ...algorithm, ...names, ...files];
    const openssl = spawnSync('openssl', ['req', ...options], { encoding: 'utf8' });
    if (openssl.status !== 0) throw new Error(`openssl made no certificate: ${openssl.stderr}`);
    return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
