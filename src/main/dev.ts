import { ConfigError, inheritedEnvironment, loadConfig } from '../config.ts';
import { runDev } from './dev/run.ts';

/** `npm start`: everything on this machine, from the database to the demo merchant. */
async function main(): Promise<number> {
  try {
    return await runDev(loadConfig(), inheritedEnvironment(), import.meta.dirname);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

process.exit(await main());
