import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { startApiProcess } from '../support/api-process.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Part of the query with which postgres.js reads the array types on each new connection. */
const TYPES_QUERY = 'b.typarray';

/** A proxy that ends the first connection at TYPES_QUERY through the server, as for a restore. */
async function startProxy({ sql, config }: TestService) {
  const { hostname: host, port } = new URL(config.databaseUrl ?? '');
  let hasEnded = false;
  const server = createServer((client) => {
    const upstream = connect({ host, port: Number(port) });
    client.on('data', async (chunk) => {
      if (hasEnded || !chunk.includes(TYPES_QUERY)) return void upstream.write(chunk);
      hasEnded = true;
      await sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE client_port = ${upstream.localPort ?? 0}`;
    });
    upstream.on('data', (chunk) => client.write(chunk));
    upstream.on('close', () => client.end());
    client.on('close', () => upstream.destroy());
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => void server.close(),
  };
}

const test = serviceTest({ time: 'skipping', merchant: { webhooks: false } })
  .extend('proxy', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startProxy(service), onCleanup),
  )
  .extend('behindProxy', { scope: 'file' }, ({ service, proxy }, { onCleanup }) => {
    const url = new URL(service.config.databaseUrl ?? '');
    url.port = String(proxy.port);
    return stoppedAtEnd(startApiProcess(service, { DATABASE_URL: url.href }), onCleanup);
  });

test('a connection that ends in the query of its types does not end the process', async ({
  behindProxy,
  merchant,
}) => {
  const api = behindProxy.as(merchant.keys);
  await until(async () => (await api.get('/orders')).status === 200);
  expect(await readFile(behindProxy.logFile, 'utf8')).toContain(
    'A new connection to the database was lost',
  );
});
