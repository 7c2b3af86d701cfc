import type { DatabaseLogin } from '../postgres/databases.ts';

export const TEMPORAL_HOST = '127.0.0.1';

/** Not `postgres12`, which has PostgreSQL parse and plan each statement anew (docs/adr/0008). */
export const SQL_PLUGIN = 'postgres12_pgx';

/** Where Temporal keeps its data. */
export interface TemporalDatabase {
  /** A superuser's address on the PostgreSQL that keeps the databases. */
  readonly adminUrl: string;
  readonly login: DatabaseLogin;
}

const SERVICES = ['frontend', 'history', 'matching', 'worker'] as const;

/** Ports that the server needs beside the frontend's. */
export type TemporalPorts = readonly {
  readonly grpcPort: number;
  readonly membershipPort: number;
}[];

/** How many pairs of ports `temporalServerConfig` wants. */
export const PORT_PAIRS = SERVICES.length;

/**
 * The server's settings: one process with all services, everything bound to the loopback interface.
 * JSON is YAML, so no library writes it.
 *
 * @param ports a membership port goes into a `smallint` column: one over 32767 ends the server
 */
export function temporalServerConfig(
  { adminUrl, login }: TemporalDatabase,
  port: number,
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
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: TEMPORAL_HOST } },
    services: Object.fromEntries(
      SERVICES.map((service, index) => [service, { rpc: rpcOf(service, index) }]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `${TEMPORAL_HOST}:${port}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: dynamicConfigFile, pollInterval: '60s' },
  });
}

/**
 * What a single developer's machine wants otherwise than a cluster.
 *
 * @param searchAttributesAtOnce a new search attribute counts for the very next request, and not only
 *   a second later. Measured, listing workflows costs the server seven times as much then.
 */
export function temporalDynamicConfig(searchAttributesAtOnce: boolean): string {
  const settings = {
    'system.namespaceCacheRefreshInterval': '1s',
    'system.forceSearchAttributesCacheRefreshOnRead': searchAttributesAtOnce,
  };
  return JSON.stringify(
    Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, [{ value }]])),
  );
}
