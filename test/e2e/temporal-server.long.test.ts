import { Client, Connection } from '@temporalio/client';
import postgres from 'postgres';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  startTemporalServer,
  type TemporalServerOptions,
} from '../../dev/temporal-on-postgres/server.ts';
import { sendSignal } from '../../dev/processes/process-table.ts';
import { ensureNamespace } from '../../src/temporal/namespaces.ts';
import { registerSearchAttributes } from '../../src/temporal/search-attributes.ts';
import { newTemporalPlace } from '../support/temporal-place.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { UNTIL_MS } from '../support/time-limits.ts';

/** The environment of a server, for one test. */
async function newPlace(): Promise<TemporalServerOptions> {
  const { options, stop } = await newTemporalPlace(temporaryFolder());
  onTestFinished(stop);
  return options;
}

async function start(place: TemporalServerOptions) {
  const server = await startTemporalServer(place);
  onTestFinished(() => server.stop());
  const { address } = server;
  const connection = await Connection.connect({ address, connectTimeout: UNTIL_MS });
  onTestFinished(() => connection.close());
  return { server, client: new Client({ connection }) };
}

const startSleeper = (client: Client) =>
  client.workflow.start('sleeper', { workflowId: 'kept', taskQueue: 'none' });

describe('the Temporal server', () => {
  test('keeps its workflows in PostgreSQL, and accepts namespace and search attributes twice', async () => {
    const place = await newPlace();
    const first = await start(place);
    for (let times = 0; times < 2; times += 1) {
      await ensureNamespace(first.client, 'default');
      await registerSearchAttributes(first.client, 'default');
    }
    await startSleeper(first.client);
    // Not stop, which kills a server that has not ended after three seconds.
    sendSignal(first.server.pid, 'SIGTERM');
    expect(await first.server.exited).toEqual({ code: 0, signal: null });

    const second = await start(place);
    const { status } = await second.client.workflow.getHandle('kept').describe();
    expect(status.name).toBe('RUNNING');
    const { operatorService } = second.client.connection;
    const known = await operatorService.listSearchAttributes({ namespace: 'default' });
    expect(Object.keys(known.customAttributes)).toContain('OrderStatus');
  });

  test('does not mistake another server on its port for itself', async () => {
    const place = await newPlace();
    await start(place);
    const twin = { ...place, folder: `${place.folder}-2` };
    await expect(startTemporalServer(twin)).rejects.toThrow(`Port ${place.port} is already in use`);
  });

  test('has a login that can connect only to its own databases', async () => {
    const place = await newPlace();
    await start(place);
    const admin = postgres(place.adminUrl, { max: 1 });
    onTestFinished(() => admin.end());
    await admin`CREATE ROLE another LOGIN PASSWORD 'another'`;
    const reach = async (login: { name: string; password: string }) => {
      const address = new URL(place.adminUrl);
      address.username = login.name;
      address.password = login.password;
      address.pathname = '/temporal';
      const sql = postgres(address.href, { max: 1 });
      try {
        const [row] = await sql<{ superuser: boolean }[]>`
          SELECT rolsuper AS superuser FROM pg_roles WHERE rolname = current_user`;
        return row?.superuser;
      } finally {
        await sql.end();
      }
    };
    expect(await reach(place.login)).toBe(false);
    await expect(reach({ name: 'another', password: 'another' })).rejects.toThrow(
      'permission denied for database',
    );
  });
});
