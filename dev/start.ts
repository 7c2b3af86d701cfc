import { ConfigError, inheritedEnvironment } from '../src/settings.ts';
import { readCommandLine } from '../src/main/process/command-line.ts';
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

readCommandLine({
  usage: 'npm start',
  does: 'Runs the service with PostgreSQL, Temporal, the gateway simulator and a mailbox, until Ctrl-C. Its settings are environment variables: docs/settings.md.',
});
process.exit(await main());
