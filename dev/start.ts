import { inheritedEnvironment } from '../src/settings.ts';
import { readCommandLine } from '../src/main/process/command-line.ts';
import { loadDevConfig } from './config.ts';
import { startAll } from './start/npm-start.ts';
import { runUntilStopped } from './start/run.ts';

readCommandLine({
  usage: 'npm start',
  does: 'Runs the service with PostgreSQL, Temporal, the gateway simulator and a mailbox, until Ctrl-C. Its settings are environment variables: docs/settings.md.',
});
const env = inheritedEnvironment();
process.exit(
  await runUntilStopped(async (supervisor, log) =>
    startAll({ config: loadDevConfig(env), env, supervisor, log }),
  ),
);
