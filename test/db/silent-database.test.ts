import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { expect } from 'vitest';
import { createAuthority } from '../../dev/processes/certificates.ts';
import { startTcpProxy } from '../../dev/processes/tcp-proxy.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { databaseTest, stoppedAtEnd } from '../support/fixtures.ts';

/** A server that speaks PostgreSQL's TLS with its clients and nothing of it with the database. */
async function startTlsServer(target: { host: string; port: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'database-tls-'));
  const { certFile, keyFile } = createAuthority(folder, 'authority').issue('db', 'DNS:localhost');
  const [cert, key] = [readFileSync(certFile), readFileSync(keyFile)];
  const server = createServer((client) => {
    client.once('data', () => {
      client.write('S');
      const secure = new TLSSocket(client, { isServer: true, cert, key });
      const upstream = connect(target);
      secure.on('error', () => upstream.destroy()).pipe(upstream);
      upstream.on('error', () => secure.destroy()).pipe(secure);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

const test = databaseTest().extend('tls', { scope: 'file' }, ({ database }, { onCleanup }) => {
  const { hostname: host, port } = new URL(database.url);
  return stoppedAtEnd(startTlsServer({ host, port: Number(port) }), onCleanup);
});

test.for([
  { over: 'TCP', sslmode: 'disable' },
  { over: 'TLS', sslmode: 'require' },
] as const)(
  'over $over a statement at a database that is silent for longer than its time limit is refused, and the next one has a new connection',
  async ({ sslmode }, { database, tls, onTestFinished }) => {
    const url = new URL(database.url);
    const proxy = await startTcpProxy(sslmode === 'require' ? tls.address : url.host);
    onTestFinished(() => proxy.stop());
    url.hostname = 'localhost';
    url.port = String(proxy.port);
    url.searchParams.set('sslmode', sslmode);
    const sql = connectDatabase(url.href, { maxConnections: 1, statementTimeoutMs: 3000 });
    onTestFinished(() => sql.end({ timeout: 1 }));
    const [before] = await sql`SELECT pg_backend_pid() AS pid`;
    proxy.hang();
    await expect(sql`SELECT 1`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await proxy.forward();
    const [after] = await sql`SELECT pg_backend_pid() AS pid`;
    expect(after!.pid).not.toBe(before!.pid);
  },
);
