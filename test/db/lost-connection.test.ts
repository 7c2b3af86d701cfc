import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { connectDatabase } from '../../src/db/client.ts';
import { failedReplays, UNTRACED } from '../replay/histories.ts';
import { startApiProcess } from '../support/api-process.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { runPart } from '../support/run-part.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';

/** Part of the query with which postgres.js reads the array types on each new connection. */
const TYPES_QUERY = 'b.typarray';

/** A proxy that ends the first connection at TYPES_QUERY through the server, as for a restore. */
async function startProxy({ sql, config }: TestService) {
  const url = new URL(config.databaseUrl ?? '');
  const { hostname: host, port } = url;
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
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    hasEnded: () => hasEnded,
    stop: async () => void server.close(),
  };
}

const test = serviceTest({ time: 'skipping', merchant: { webhooks: false } })
  .extend('proxy', ({ service }, { onCleanup }) => stoppedAtEnd(startProxy(service), onCleanup))
  .extend('behindProxy', ({ service, proxy }, { onCleanup }) =>
    stoppedAtEnd(startApiProcess(service, { DATABASE_URL: proxy.url }), onCleanup),
  );

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

test('to a command of operators it is an error like any other', async ({ service, proxy }) => {
  const result = await runPart('src/main/admin.ts', { ...service.env, DATABASE_URL: proxy.url }, [
    'merchant',
    'list',
    '--json',
  ]);
  expect(result).toEqual({
    code: 1,
    stdout: '',
    stderr: 'The database cannot be reached: terminating connection due to administrator command\n',
  });
  expect(proxy.hasEnded()).toBe(true);
});

// Such as an oracle's, while the database is restored. Without `onUnhandledError` in vitest.config.ts the run fails.
test.for([false, true])(
  'in the process of a test it is no error of the run; a workflow was replayed in it: %s',
  async (isReplayed, { proxy }) => {
    const options = { workflowBundle: await workflowBundle() };
    if (isReplayed) await failedReplays(options, UNTRACED, ['cancelled-by-expiry']);
    const sql = connectDatabase(proxy.url, { maxConnections: 1 });
    await until(() => sql`SELECT 1`.catch(() => false));
    await sql.end({ timeout: 1 });
    expect(proxy.hasEnded()).toBe(true);
  },
);
