import { join } from 'node:path';
import { readCommandLine } from '../src/main/process/command-line.ts';
import { inheritedEnvironment } from '../src/settings.ts';
import { productionLikeText } from './production-like/announce.ts';
import { settingsGiven } from './production-like/plan.ts';
import { startProductionLike, type MemberName } from './production-like/start.ts';
import { REPOSITORY } from './start/entries.ts';
import { runUntilStopped } from './start/run.ts';

/** Where it keeps its data unless DATA_DIR is set: beside the data of `npm start`. */
const DATA_DIR = '.data/production-like';

readCommandLine({
  usage: 'npm run start:production-like',
  does: 'Runs two APIs behind a balancer, two workers, PostgreSQL and Temporal on it, until Ctrl-C. Its settings are environment variables: docs/settings.md.',
});
const env = inheritedEnvironment();
const dataDir = env['DATA_DIR'] || join(REPOSITORY, DATA_DIR);
process.exit(
  await runUntilStopped<MemberName>(async (supervisor, log) => {
    const startedAt = performance.now();
    const settings = settingsGiven(env);
    log('Starting …');
    const shape = await startProductionLike({ dataDir, settings, log, supervisor });
    log(productionLikeText(shape, performance.now() - startedAt));
  }),
);
