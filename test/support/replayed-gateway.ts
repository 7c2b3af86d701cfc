import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RecordedExchange } from '../../src/payments/gateway/gateway-record.ts';

const requestOf = (method: string | undefined, path: string) => `${method} ${path}`;

/**
 * Serves the answers of a recorded pilot over HTTP: to each method and path those of the record, in their
 * order. A request without an answer left gets status 404, and is in `unknown`.
 */
export async function startReplayedGateway(exchanges: readonly RecordedExchange[]) {
  const left = new Map<string, RecordedExchange[]>();
  for (const exchange of exchanges) {
    const request = requestOf(exchange.method, exchange.path);
    left.set(request, [...(left.get(request) ?? []), exchange]);
  }
  const unknown: string[] = [];
  const server = createServer((message, response) => {
    const { pathname } = new URL(message.url ?? '', 'http://gateway');
    const request = requestOf(message.method, pathname);
    const exchange = left.get(request)?.shift();
    if (!exchange) unknown.push(request);
    // The connection of a request that was not answered ends.
    if (exchange?.status === null) return void response.destroy();
    response.writeHead(exchange?.status ?? 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(exchange?.answer ?? null));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    unknown,
    /** The requests of the record that were not made. */
    notMade: () => [...left].flatMap(([request, rest]) => rest.map(() => request)),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
