import { Client, Connection } from '@temporalio/client';

/** A Temporal server and namespace. */
export interface TemporalTarget {
  address: string;
  namespace: string;
}

/** gRPC would wait up to two minutes between two tries: that long after Temporal is back. */
const RECONNECT = {
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 1000,
};

/** Connects on first use, and again within a second or so when the server comes back. */
export function connectTemporal({ address, namespace }: TemporalTarget): Client {
  const connection = Connection.lazy({ address, channelArgs: RECONNECT });
  return new Client({ connection, namespace });
}
