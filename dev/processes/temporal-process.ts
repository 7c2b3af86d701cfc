import { Connection, type ConnectionOptions } from '@temporalio/client';
import { acceptsConnections, LOOPBACK, requireFreePorts } from './ports.ts';
import type { StopStep } from './process-table.ts';
import type { ServerProcess } from './server-process.ts';

/** The server ends within about a second; every acknowledged write is already in its database. */
export const TEMPORAL_STOP_STEPS: readonly StopStep[] = [{ signal: 'SIGTERM', waitMs: 3000 }];

/** A server that is frozen accepts calls and does not respond. */
const CALL_TIMEOUT_MS = 3000;

/** A running Temporal server. */
export interface TemporalServer extends Pick<ServerProcess, 'pid' | 'exited' | 'stop'> {
  /** host:port of the gRPC service. */
  readonly address: string;
}

/** How a client connects to a server with TLS. */
export type TemporalClientTls = ConnectionOptions['tls'];

/** The environment without our TEMPORAL_* settings, which Temporal's programs would also read. */
export function withoutTemporalSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

/** Whether the server on a port of this machine responds to the first call of a client. */
export async function isTemporalServing(port: number, tls?: TemporalClientTls): Promise<boolean> {
  // A gRPC channel waits a second after a refused connection, a plain socket does not.
  if (!(await acceptsConnections(LOOPBACK, port))) return false;
  let connection: Connection | undefined;
  try {
    const { workflowService } = (connection = await Connection.connect({
      address: `${LOOPBACK}:${port}`,
      connectTimeout: 1000,
      ...(tls && { tls }),
    }));
    await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
      workflowService.describeNamespace({ namespace: 'temporal-system' }),
    );
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

/** Another Temporal on this port would respond instead of the new one. @throws SetupError */
export const requireFreeTemporalPort = (port: number) =>
  requireFreePorts([{ host: LOOPBACK, port, variable: 'PORT_OFFSET' }]);
