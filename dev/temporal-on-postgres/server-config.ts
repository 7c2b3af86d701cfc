import type { DatabaseLogin } from '../postgres/databases.ts';
import { LOOPBACK } from '../processes/ports.ts';

/** The plugin `postgres12` would make PostgreSQL plan each statement again (docs/adr/0008). */
export const SQL_PLUGIN = 'postgres12_pgx';

/** Where Temporal stores its data. */
export interface TemporalDatabase {
  /** The connection URL of a superuser of PostgreSQL. */
  readonly adminUrl: string;
  readonly login: DatabaseLogin;
}

/** The server's certificate and who may connect to its gRPC port: clients with a certificate. */
export interface TemporalTls {
  /** The paths of PEM files. The server also authenticates itself to its own port with them. */
  readonly certFile: string;
  readonly keyFile: string;
  /** The authorities of this certificate and of the clients' certificates. */
  readonly caFile: string;
  /** A name in the certificate. */
  readonly serverName: string;
}

/** What a server is started with. */
export interface TemporalServerSettings extends TemporalDatabase {
  /** Of its gRPC service. */
  readonly port: number;
  /** Where the server shows profiles of itself; without it, nowhere. */
  readonly pprofPort?: number | undefined;
  /** Without it the gRPC port is plain. */
  readonly tls?: TemporalTls | undefined;
}

const SERVICES = ['frontend', 'history', 'matching', 'worker'] as const;

/** The ports of each service of the server, except the frontend's gRPC port. */
export type TemporalPorts = readonly {
  readonly grpcPort: number;
  readonly membershipPort: number;
}[];

/** The number of pairs of ports that `temporalServerConfig` needs. */
export const PORT_PAIRS = SERVICES.length;

function tlsConfig({ certFile, keyFile, caFile, serverName }: TemporalTls) {
  const client = { serverName, rootCaFiles: [caFile] };
  return {
    frontend: {
      server: { certFile, keyFile, requireClientAuth: true, clientCaFiles: [caFile] },
      client,
    },
    systemWorker: { certFile, keyFile, client },
  };
}

/** A cluster of this server alone. */
const clusterMetadata = (port: number) => ({
  enableGlobalNamespace: false,
  failoverVersionIncrement: 10,
  masterClusterName: 'active',
  currentClusterName: 'active',
  clusterInformation: {
    active: {
      enabled: true,
      initialFailoverVersion: 1,
      rpcName: 'frontend',
      rpcAddress: `${LOOPBACK}:${port}`,
    },
  },
});

/**
 * The server's settings: one process with all services, bound to the loopback interface. JSON is
 * valid YAML.
 *
 * @param ports membership ports must be at most 32767: the server stores them as `smallint`
 */
export function temporalServerConfig(
  { adminUrl, login, port, pprofPort, tls }: TemporalServerSettings,
  ports: TemporalPorts,
  dynamicConfigFile: string,
): string {
  const { host } = new URL(adminUrl);
  const store = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: SQL_PLUGIN,
      databaseName,
      connectAddr: host,
      connectProtocol: 'tcp',
      user: login.name,
      password: login.password,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  const rpcOf = (service: (typeof SERVICES)[number], index: number) => ({
    grpcPort: service === 'frontend' ? port : ports[index]?.grpcPort,
    membershipPort: ports[index]?.membershipPort,
    bindOnLocalHost: true,
  });
  return JSON.stringify({
    log: { stdout: true, level: 'warn', format: 'json' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: {
        default: store('temporal', 20),
        visibility: store('temporal_visibility', 10),
      },
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: LOOPBACK },
      ...(tls && { tls: tlsConfig(tls) }),
      ...(pprofPort !== undefined && { pprof: { host: LOOPBACK, port: pprofPort } }),
    },
    services: Object.fromEntries(
      SERVICES.map((service, index) => [service, { rpc: rpcOf(service, index) }]),
    ),
    clusterMetadata: clusterMetadata(port),
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: dynamicConfigFile, pollInterval: '60s' },
  });
}

/** The server's dynamic settings, for a developer's machine. */
export function temporalDynamicConfig(): string {
  const settings = {
    'system.namespaceCacheRefreshInterval': '1s',
    // Without it, a worker that stops can still be given tasks, which wait until they time out.
    'frontend.enableCancelWorkerPollsOnShutdown': true,
    // As in Temporal's own development server. With the default of four, the last hundred of 1,000
    // orders that were created at once began at 15 a second on an idle machine.
    'matching.numTaskqueueReadPartitions': 1,
    'matching.numTaskqueueWritePartitions': 1,
    // The default of one writes the workflows of a shard one after the other. Under load after an outage
    // the writes then waited for each other until their requests timed out, for minutes (ADR 8). Together
    // the four shards stay below the connections of the store.
    'history.shardIOConcurrency': 4,
  };
  return JSON.stringify(
    Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, [{ value }]])),
  );
}
