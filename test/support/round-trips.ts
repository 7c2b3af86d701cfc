import { once } from 'node:events';
import { createServer as createHttpServer, request } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** PostgreSQL's message after each statement: it is ready for the next one. */
const READY_FOR_QUERY = 'Z'.charCodeAt(0);

/** Calls `onReady` for each statement that the server has finished, the connection's start among them. */
function readyReader(onReady: () => void) {
  let rest = Buffer.alloc(0);
  return (data: Buffer): void => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      if (rest[0] === READY_FOR_QUERY) onReady();
      rest = rest.subarray(1 + rest.readUInt32BE(1));
    }
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * Stands between processes and their servers, PostgreSQL and the payment gateway: it counts what these have answered
 * to requests that name something, and holds one answer back, so that the processes can be killed after the server has
 * done the work and before they know it.
 */
export async function startRoundTrips({
  databaseUrl,
  gatewayUrl,
}: {
  databaseUrl: string;
  gatewayUrl: string;
}) {
  const database = new URL(databaseUrl);
  const gateway = new URL(gatewayUrl);
  const sockets = new Set<Socket>();
  let names: readonly string[] = [];
  let left = Infinity;
  let hold: () => void = () => undefined;

  const namesOurs = (data: Buffer | string) => names.some((name) => data.includes(name));

  /** @returns whether the answer is passed on */
  function answered(): boolean {
    left -= 1;
    if (left === 0) hold();
    return left > 0;
  }

  const statements = createServer((client) => {
    const server = connect(Number(database.port), database.hostname);
    let isOurs = false;
    let isPassedOn = true;
    const read = readyReader(() => {
      if (isOurs) isPassedOn &&= answered();
      isOurs = false;
    });
    client.on('data', (data) => {
      isOurs ||= namesOurs(data);
    });
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [client, server].forEach((one) => one.destroy()));
    }
    client.pipe(server);
    server.on('data', (data) => {
      read(data);
      if (isPassedOn) client.write(data);
    });
  });
  const calls = createHttpServer(async (incoming, outgoing) => {
    const { method, headers, url = '' } = incoming;
    // A process that is killed in the middle of its request has sent nothing.
    const body = await buffer(incoming).catch(() => undefined);
    if (!body) return;
    const call = request(new URL(url, gateway), { method, headers });
    call.end(body);
    const [response] = await once(call, 'response');
    const answer = await buffer(response);
    const isOurs = namesOurs(url) || namesOurs(body);
    if (!isOurs || answered())
      outgoing.writeHead(response.statusCode, response.headers).end(answer);
  });
  const [asDatabase, asGateway] = [new URL(database), new URL(gateway)];
  asDatabase.port = String(await listen(statements));
  asGateway.port = String(await listen(calls));

  return {
    /** The settings of a process whose round trips are counted. */
    settings: { DATABASE_URL: asDatabase.href, SANDBOX_RAZORPAY_BASE_URL: asGateway.origin },
    /**
     * Counts answers to requests with one of these names from now on. Resolves when that of this number is held back,
     * and every later one.
     */
    async untilAnswer(place: number, named: readonly string[]): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      names = named;
      left = place;
      hold = resolve;
      await promise;
    },
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      statements.close();
      calls.close();
      calls.closeAllConnections();
    },
  };
}
