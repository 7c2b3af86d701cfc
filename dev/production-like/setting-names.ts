import { SETTINGS_TABLES } from '../settings-table.ts';

/** Settings that describe this machine. */
export const MACHINE_SETTINGS: readonly string[] = [
  'XDG_CACHE_HOME',
  'TEMPORAL_CLI_PATH',
  'TEMPORAL_PROGRAMS_DIR',
  'TEMPORAL_TEST_SERVER_PATH',
];

/** The addresses of servers that the shape starts itself. */
const OWN_SERVERS: readonly string[] = [
  'DATA_DIR',
  'DATABASE_URL',
  'MIGRATION_DATABASE_URL',
  'TEMPORAL_ADDRESS',
  'METRICS_PORT',
];

/** The names of all settings. */
export function serviceSettingNames(): string[] {
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
