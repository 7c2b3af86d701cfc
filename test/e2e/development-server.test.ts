import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cacheRoot } from '../../dev/files/cache.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { sendSignal } from '../../dev/processes/process-table.ts';
import { findTemporalCli } from '../../dev/temporal/command-line.ts';
import {
  startDevelopmentServer,
  type DevelopmentServerOptions,
} from '../../dev/temporal/development-server.ts';
import { inheritedEnvironment } from '../../src/settings.ts';
import { ensureNamespace } from '../../src/temporal/namespaces.ts';
import { registerSearchAttributes } from '../../src/temporal/search-attributes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const env = inheritedEnvironment();

async function newPlace() {
  const folder = temporaryFolder();
  const log = () => undefined;
  return {
    cli: await findTemporalCli({ cacheRoot: cacheRoot(), env, log }),
    databaseFile: join(folder, 'temporal', 'temporal.db'),
    port: await freePort(),
    uiPort: await freePort(),
    logFile: join(folder, 'temporal.log'),
    env,
  } satisfies DevelopmentServerOptions;
}

async function start(place: DevelopmentServerOptions) {
  const server = await startDevelopmentServer(place);
  onTestFinished(() => server.stop());
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  return { server, client: new Client({ connection }) };
}

describe('the development server of Temporal', () => {
  test('keeps workflows, namespaces and search attributes when it is killed, and shows them in its Web UI', async () => {
    const place = await newPlace();
    const first = await start(place);
    for (let times = 0; times < 2; times += 1) {
      await ensureNamespace(first.client, 'more-orders');
      await registerSearchAttributes(first.client, 'default');
    }
    await first.client.workflow.start('sleeper', { workflowId: 'kept', taskQueue: 'none' });
    const twin = { ...place, databaseFile: `${place.databaseFile}-2` };
    // It does not mistake another server on its port for itself.
    await expect(startDevelopmentServer(twin)).rejects.toThrow(
      `Port ${place.port} is already in use`,
    );
    sendSignal(first.server.pid, 'SIGKILL');
    await first.server.exited;

    const second = await start(place);
    const { status } = await second.client.workflow.getHandle('kept').describe();
    expect(status.name).toBe('RUNNING');
    const { operatorService } = second.client.connection;
    const known = await operatorService.listSearchAttributes({ namespace: 'default' });
    expect(Object.keys(known.customAttributes)).toContain('OrderStatus');
    await ensureNamespace(second.client, 'more-orders');
    const page = `http://127.0.0.1:${place.uiPort}/api/v1/namespaces/default/workflows/kept`;
    await until(async () =>
      (await (await fetch(page)).text()).includes('WORKFLOW_EXECUTION_STATUS_RUNNING'),
    );
    // Not stop, which kills a server that has not ended after three seconds.
    sendSignal(second.server.pid, 'SIGTERM');
    expect(await second.server.exited).toEqual({ code: 0, signal: null });
  });
});
