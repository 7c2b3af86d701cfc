import { join } from 'node:path';
import { readCommandLine } from '../src/main/process/command-line.ts';
import { ConfigError, inheritedEnvironment } from '../src/settings.ts';
import { loadDevConfig } from './config.ts';
import { productionLikeText } from './production-like/announce.ts';
import { settingsGiven } from './production-like/setting-names.ts';
import { startProductionLike } from './production-like/start.ts';
import { createLog, listenForStop, rejectOnAbort, report } from './start/run.ts';

/** Where it keeps its data unless DATA_DIR is set: beside the data of `npm start`. */
const DATA_DIR = '.data/production-like';

/** `npm run start:production-like`: runs the service in the shape of production until Ctrl-C. */
async function main(): Promise<number> {
  const log = createLog();
  const env = inheritedEnvironment();
  const { startedByNpm } = loadDevConfig({ npm_lifecycle_event: env['npm_lifecycle_event'] });
  // After a second request the guard ends what is still running.
  const { signal } = listenForStop(startedByNpm, () => process.exit(1));
  const stopped = rejectOnAbort(signal);
  const startedAt = performance.now();
  const settings = settingsGiven(env);
  const dataDir = env['DATA_DIR'] || join(import.meta.dirname, '..', DATA_DIR);
  try {
    log('Starting …');
    const shape = await startProductionLike({ dataDir, settings, temporalUi: true, log, signal });
    log(productionLikeText(shape, performance.now() - startedAt));
    try {
      return await stopped;
    } finally {
      await shape.stop();
    }
  } catch (error) {
    if (signal.aborted) return report(signal.reason, log);
    if (error instanceof ConfigError) return report(new Error(error.message), log);
    return report(error, log);
  }
}

readCommandLine({
  usage: 'npm run start:production-like',
  does: 'Runs two APIs behind a balancer, two workers, PostgreSQL and Temporal on it, until Ctrl-C. Its settings are environment variables: docs/settings.md.',
});
process.exit(await main());
