import {
  Client,
  Connection,
  isGrpcDeadlineError,
  isGrpcServiceError,
  type ClientOptions,
  type ConnectionOptions,
} from '@temporalio/client';

/** The encryption and authentication of a connection to Temporal. Without either, it is plain. */
export interface TemporalSecurity {
  readonly tls?: NonNullable<ConnectionOptions['tls']>;
  readonly apiKey?: string;
}

export interface TemporalServer extends TemporalSecurity {
  /** host:port */
  readonly address: string;
}

export interface TemporalTarget extends TemporalServer {
  readonly namespace: string;
}

/** The deadline of a call for which an API client waits: the API responds with 500 after it. */
export const CALL_TIMEOUT_MS = 4500;

const CHANNEL = {
  // gRPC's default is up to two minutes between attempts, also after Temporal is reachable again.
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 1000,
  // Otherwise gRPC asks DNS for a TXT record with its settings. In a network without internet access no answer
  // comes, and the request keeps a process alive for 24 s after its work.
  'grpc.service_config_disable_resolution': 1,
};

/**
 * Makes a client that connects on first use, and reconnects within about a second of the server's return.
 *
 * @param options interceptors, such as those for traces
 */
export function connectTemporal(
  { namespace, ...server }: TemporalTarget,
  options: Pick<ClientOptions, 'interceptors'> = {},
): Client {
  const connection = Connection.lazy({ ...server, channelArgs: CHANNEL });
  return new Client({ connection, namespace, ...options });
}

/** True if the connection is encrypted. An API key alone implies it, as in the SDK. */
export function usesTls({ tls, apiKey }: TemporalSecurity): boolean {
  return tls === undefined ? apiKey !== undefined : tls !== false;
}

/** The gRPC status codes that callers handle. */
const CANCELLED = 1;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

const hasCode = (error: unknown, code: number) => isGrpcServiceError(error) && error.code === code;

export const isGrpcNotFound = (error: unknown) => hasCode(error, NOT_FOUND);

export const isGrpcAlreadyExists = (error: unknown) => hasCode(error, ALREADY_EXISTS);

/** True when a call reached its deadline. The server may end a long poll as CANCELLED shortly before. */
export const isDeadlineExceeded = (error: unknown) =>
  isGrpcDeadlineError(error) ||
  hasCode(error, CANCELLED) ||
  // The client wraps the error of a workflow's result.
  (error instanceof Error && hasCode(error.cause, CANCELLED));

/** Converts a protobuf Duration or Timestamp to seconds. */
export function secondsOf(
  time: { seconds?: unknown; nanos?: number | null } | null | undefined,
): number {
  return Number(time?.seconds ?? 0) + (time?.nanos ?? 0) / 1e9;
}
