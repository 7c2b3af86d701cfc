import { loadConfig, required } from '../config.ts';
import { runMain } from './process/process.ts';

/** The settings without which API and worker end at their start. */
const REQUIRED = [
  'DATABASE_URL',
  'TEMPORAL_ADDRESS',
  'API_SECRET_PEPPER',
  'WEBHOOK_SECRET_KEYS',
  'DATA_ENCRYPTION_KEYS',
] as const;

/**
 * Ends with 1, and one line that names the setting, if API and worker could never start. Containers that are started
 * again without end depend on it, so that wrong settings end the start instead of repeating it.
 */
await runMain(
  {
    name: 'check-settings',
    does: 'Checks the settings of API and worker.',
    load: loadConfig,
  },
  async (config, log) => {
    for (const name of REQUIRED) required(config, name);
    log.info('The settings are complete');
  },
);
