import { gatewaySettings, MAIL_SETTINGS, TRACING_SETTINGS } from '../src/config.ts';
import { withGenerated } from './files/generated.ts';
import { ENVIRONMENTS } from '../src/domain/index.ts';
import { DURATION_SETTINGS, SERVICE_SETTINGS } from '../src/service-settings.ts';
import { fileVariable, type Setting, type Settings } from '../src/settings.ts';
import { CONNECTION_SETTINGS } from '../src/temporal/connection-settings.ts';
import { DEV_SETTINGS } from './config.ts';

/** The tables of settings, by the line above each. */
export const SETTINGS_TABLES: Record<string, Settings> = {
  'The service:': { ...SERVICE_SETTINGS, ...MAIL_SETTINGS },
  'The connection to Temporal, with the names and the meaning that Temporal itself gives these settings:':
    CONNECTION_SETTINGS,
  'Traces:': TRACING_SETTINGS,
  'Durations:': DURATION_SETTINGS,
  'The gateway of each environment; set all of its variables or none. `npm start` sets the simulator for the sandbox. Without a gateway, payment sessions answer 502:':
    Object.fromEntries(
      ENVIRONMENTS.flatMap((environment) => gatewaySettings(environment)).flatMap(
        ({ prefix, settings }) =>
          Object.entries(settings).map(([name, own]) => [prefix + name, own] as const),
      ),
    ),
  "A developer's machine, with what `npm start` runs beside the service:": DEV_SETTINGS,
};

function rowOf([name, entry]: [string, Setting]): string {
  const { accepts, description, fallback, byDefault, secret = false } = entry;
  const names = secret ? `\`${name}\` or \`${fileVariable(name)}\`` : `\`${name}\``;
  const whenNotSet = byDefault ?? (fallback ? `\`${fallback}\`` : '');
  return `| ${names} | ${whenNotSet} | ${description} | ${accepts} |`;
}

function tableOf([title, settings]: [string, Settings]): string {
  const rows = Object.entries(settings).filter(([, { hidden }]) => hidden !== true);
  return [
    title,
    '',
    '| Variable | Default | What it sets | It accepts |',
    '|---|---|---|---|',
    ...rows.map(rowOf),
  ].join('\n');
}

/** The page of the settings, with the tables generated between its two markers. */
export function withSettingsTables(page: string): string {
  const tables = Object.entries(SETTINGS_TABLES).map(tableOf).join('\n\n');
  return withGenerated(page, 'settings', tables);
}
