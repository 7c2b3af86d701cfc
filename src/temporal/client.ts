import { Client, Connection } from '@temporalio/client';

/** A Temporal server and namespace. */
export interface TemporalTarget {
  address: string;
  namespace: string;
}

/** Connects on first use, and again by itself when the server comes back. */
export function connectTemporal({ address, namespace }: TemporalTarget): Client {
  return new Client({ connection: Connection.lazy({ address }), namespace });
}
