import { Client, Connection, type ClientOptions, type ConnectionOptions } from '@temporalio/client';

/** How a connection to Temporal is encrypted and authenticated; without either it is plain. */
export interface TemporalSecurity {
  readonly tls?: NonNullable<ConnectionOptions['tls']>;
  readonly apiKey?: string;
}

/** A Temporal server. */
export interface TemporalServer extends TemporalSecurity {
  /** host:port */
  readonly address: string;
}

/** A Temporal server and namespace. */
export interface TemporalTarget extends TemporalServer {
  readonly namespace: string;
}

const CHANNEL = {
  // gRPC's default is up to two minutes between attempts, also after Temporal is reachable again.
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 1000,
  // Otherwise gRPC asks DNS for a TXT record with its settings. In a network without a way out no answer comes,
  // and the question keeps a process alive for 24 s after its work.
  'grpc.service_config_disable_resolution': 1,
};

/**
 * A client that connects on first use, and reconnects within about a second of the server's return.
 *
 * @param options interceptors, such as those of traces
 */
export function connectTemporal(
  { namespace, ...server }: TemporalTarget,
  options: Pick<ClientOptions, 'interceptors'> = {},
): Client {
  const connection = Connection.lazy({ ...server, channelArgs: CHANNEL });
  return new Client({ connection, namespace, ...options });
}

/** Whether the connection is encrypted: an API key alone implies it, as in the SDK. */
export function usesTls({ tls, apiKey }: TemporalSecurity): boolean {
  return tls === undefined ? apiKey !== undefined : tls !== false;
}
