import { join } from 'node:path';
import { ConfigError, inheritedEnvironment, loadConfig } from '../src/config.ts';
import { runDev } from './start/run.ts';

/** `npm start`: everything on this machine, from the database to the demo merchant. */
async function main(): Promise<number> {
  try {
    const entryFolder = join(import.meta.dirname, '../src/main');
    return await runDev(loadConfig(), inheritedEnvironment(), entryFolder);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

process.exit(await main());
