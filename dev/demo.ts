import { ConfigError } from '../src/settings.ts';
import { SetupError } from '../src/setup-error.ts';
import { loadDevConfig } from './config.ts';
import { tellStory } from './demo/story.ts';

/** Plays one order's whole story against the service that runs on the same DATA_DIR. */
try {
  await tellStory(loadDevConfig().dataDir, (line) => process.stdout.write(`${line}\n`));
} catch (error) {
  const expected = error instanceof ConfigError || error instanceof SetupError;
  const text = expected ? error.message : `The demo failed: ${String(error)}`;
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
