import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { NativeConnection as NativeConnectionType } from '@temporalio/worker';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import { startGuard } from '../../dev/processes/guard.ts';
import { findProcesses } from '../../dev/processes/process-table.ts';
import { ensureNamespace } from '../../src/temporal/namespaces.ts';
import { once } from './fixtures.ts';
import { installQuietRuntime } from './quiet-runtime.ts';
import { UNTIL_MS } from './time-limits.ts';

/** Temporal, in real time or with time that can be skipped. */
export interface TestTemporal {
  client: Client;
  nativeConnection: NativeConnectionType;
  address: string;
  namespace: string;
  nowMs(): Promise<number>;
  skip(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The SDK gives the server five seconds to start, which is too short on a busy machine. */
async function startSkippingServer(triesLeft = 3): Promise<TestWorkflowEnvironment> {
  const path = inject('timeSkippingServerPath');
  const server = { executable: { type: 'existing-path', path } } as const;
  try {
    return await TestWorkflowEnvironment.createTimeSkipping({ server });
  } catch (error) {
    const isLate = error instanceof Error && error.message.includes('did not start within');
    if (!isLate || triesLeft === 1) throw error;
    return startSkippingServer(triesLeft - 1);
  }
}

const guardOfThisProcess = once(() => startGuard());

/** The SDK stops the server that it has started, but not if this process is killed. */
async function watchSkippingServer(address: string): Promise<() => void> {
  const { port } = new URL(`http://${address}`);
  const guard = await guardOfThisProcess();
  const pids = findProcesses(inject('timeSkippingServerPath'), port);
  for (const pid of pids) guard.watch(pid, 'SIGKILL');
  return () => pids.forEach((pid) => guard.unwatch(pid));
}

export async function skippingTemporal(): Promise<TestTemporal> {
  installQuietRuntime();
  const env = await startSkippingServer();
  const unwatch = await watchSkippingServer(env.address);
  return {
    client: new Client({ connection: env.connection }),
    nativeConnection: env.nativeConnection,
    address: env.address,
    namespace: 'default',
    nowMs: () => env.currentTimeMs(),
    skip: (ms) => env.sleep(ms),
    async close() {
      await env.teardown();
      unwatch();
    },
  };
}

/** A separate namespace on the run's one server. */
export async function realTemporal(): Promise<TestTemporal> {
  installQuietRuntime();
  const address = inject('temporalAddress');
  const connection = await Connection.connect({ address, connectTimeout: UNTIL_MS });
  const namespace = `test-${randomUUID()}`;
  const client = new Client({ connection, namespace });
  await ensureNamespace(client, namespace);
  const nativeConnection = await NativeConnection.connect({ address });
  return {
    client,
    nativeConnection,
    address,
    namespace,
    nowMs: async () => Date.now(),
    skip: () => Promise.reject(new Error('Real time cannot be skipped')),
    async close() {
      await nativeConnection.close();
      await connection.close();
    },
  };
}
