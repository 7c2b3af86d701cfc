import { ConfigError, inheritedEnvironment } from '../src/settings.ts';
import { loadDevConfig } from './config.ts';
import { runDev } from './start/run.ts';

/** `npm start`: runs everything on this machine, from the database to the demo merchant. */
async function main(): Promise<number> {
  try {
    return await runDev(loadDevConfig(), inheritedEnvironment());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

process.exit(await main());
