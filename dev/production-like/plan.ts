import { fileVariable, inheritedEnvironment } from '../../src/settings.ts';
import { loadDevConfig, type DevConfig } from '../config.ts';
import { freePort, freePortSettings, LOOPBACK } from '../processes/ports.ts';
import { compileCache } from '../start/environment.ts';
import { SETTINGS_TABLES } from '../settings-table.ts';

/** A process of the production-like shape. */
export type MemberName =
  | 'postgres'
  | 'temporal'
  | 'gateway-simulator'
  | 'mailbox'
  | `api-${number}`
  | `worker-${number}`;

/** What every API and worker has, unless the settings say otherwise. */
const SHAPE_SETTINGS = { RATE_LIMIT_STORE: 'postgres' };

/** The addresses of servers that the shape starts itself. */
const OWN_SERVERS: readonly string[] = [
  'DATA_DIR',
  'DATABASE_URL',
  'MIGRATION_DATABASE_URL',
  'TEMPORAL_ADDRESS',
  'METRICS_PORT',
];

/** The names of all settings. */
function serviceSettingNames(): string[] {
  return Object.values(SETTINGS_TABLES).flatMap((table) => Object.keys(table));
}

/** The settings that a terminal gives to the production-like shape. */
export function settingsGiven(env: NodeJS.ProcessEnv): Record<string, string> {
  const names = serviceSettingNames().filter((name) => !OWN_SERVERS.includes(name));
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value ? [[name, value] as const] : [];
    }),
  );
}

/** How the members are configured. */
export interface Plan {
  /** The settings; `port` is the balancer's. */
  readonly config: DevConfig;
  /** The environment to which each process's own settings are added. */
  readonly env: NodeJS.ProcessEnv;
  /** Where each API listens. */
  readonly apiPorts: ReadonlyMap<MemberName, number>;
  /** Where each API and worker serves its metrics. */
  readonly metricsPorts: ReadonlyMap<MemberName, number>;
}

/** The inherited environment without the settings of another service on this machine. */
function machineEnvironment(): NodeJS.ProcessEnv {
  const settings = new Set(serviceSettingNames().flatMap((name) => [name, fileVariable(name)]));
  return Object.fromEntries(
    Object.entries(inheritedEnvironment()).filter(([name]) => !settings.has(name)),
  );
}

const numbered = <Kind extends 'api' | 'worker'>(kind: Kind, count: number) =>
  Array.from({ length: count }, (_, index) => `${kind}-${index + 1}` as const);

/** Chooses ports and reads the settings. @throws ConfigError when a setting is wrong */
export async function makePlan(options: {
  readonly dataDir: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly apis: number;
  readonly workers: number;
}): Promise<Plan> {
  const env = {
    ...machineEnvironment(),
    ...(await freePortSettings()),
    ...SHAPE_SETTINGS,
    ...options.settings,
    DATA_DIR: options.dataDir,
  };
  const apis = numbered('api', options.apis);
  const workers = numbered('worker', options.workers);
  const portEach = async (names: readonly MemberName[]) => {
    const chosen = new Map<MemberName, number>();
    for (const name of names) chosen.set(name, await freePort());
    return chosen;
  };
  const config = loadDevConfig(env);
  return {
    config,
    env: { ...compileCache(), ...env },
    apiPorts: await portEach(apis),
    metricsPorts: await portEach([...apis, ...workers]),
  };
}

/** Where the APIs listen. */
export function apiPlaces({ apiPorts }: Plan): { host: string; port: number }[] {
  return [...apiPorts.values()].map((port) => ({ host: LOOPBACK, port }));
}
