import type { ClientOptions } from '@temporalio/client';
import { Client, Connection } from '@temporalio/client';

/** A Temporal server and namespace. */
export interface TemporalTarget {
  address: string;
  namespace: string;
}

/** gRPC's default is up to two minutes between attempts, also after Temporal is reachable again. */
const RECONNECT = {
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 1000,
};

/**
 * A client that connects on first use, and reconnects within about a second of the server's return.
 *
 * @param options interceptors, such as those of traces
 */
export function connectTemporal(
  { address, namespace }: TemporalTarget,
  options: Pick<ClientOptions, 'interceptors'> = {},
): Client {
  const connection = Connection.lazy({ address, channelArgs: RECONNECT });
  return new Client({ connection, namespace, ...options });
}
