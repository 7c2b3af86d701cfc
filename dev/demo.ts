import { readCommandLine } from '../src/main/process/command-line.ts';
import { ConfigError } from '../src/settings.ts';
import { SetupError } from '../src/setup-error.ts';
import { loadDevConfig } from './config.ts';
import { runDemo } from './demo/run-demo.ts';

readCommandLine({
  usage: 'npm run demo',
  does: 'Brings one order through its life over HTTP, and prints each request and webhook. npm start must run on the same DATA_DIR.',
});
/** Runs the lifecycle of one order against the service that runs on the same DATA_DIR. */
try {
  await runDemo(loadDevConfig().dataDir, (line) => process.stdout.write(`${line}\n`));
} catch (error) {
  const expected = error instanceof ConfigError || error instanceof SetupError;
  const text = expected ? error.message : `The demo failed: ${String(error)}`;
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
