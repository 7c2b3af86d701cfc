import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { startHttpServer } from '../../src/http/server/server.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { composeApi } from '../../src/main/compose/compose.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import type { TestService } from './service.ts';

/** For one test, the client of a Temporal that accepts connections and never responds. */
export async function silentTemporalClient({ temporal }: TestService) {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  return connectTemporal({ address, namespace: temporal.namespace });
}

/** A second API for one test, whose Temporal never responds. */
export async function startApiWithSilentTemporal(service: TestService) {
  const { config, sql, log } = service;
  const client = await silentTemporalClient(service);
  const { app, readiness } = await composeApi({ config, sql, temporal: client, log });
  const port = await freePort();
  const server = await startHttpServer(app, { host: '127.0.0.1', port, readiness, log });
  onTestFinished(() => server.stop());
  return { origin: `http://127.0.0.1:${port}` };
}
