import { adminMain } from '../src/main/admin/run.ts';
import { inheritedEnvironment } from '../src/settings.ts';
import { SetupError } from '../src/setup-error.ts';
import { environmentOver, loadDevConfig } from './config.ts';
import { readDevFacts, type DevFacts } from './dev-facts.ts';

/**
 * The settings of the service that `npm start` runs on DATA_DIR; this process's environment takes
 * precedence. Another DATABASE_URL here means another service, whose settings are all here.
 *
 * @throws SetupError when neither gives a database; ConfigError
 */
function findSettings(): NodeJS.ProcessEnv {
  const own = inheritedEnvironment();
  const { dataDir, databaseUrl } = loadDevConfig(own);
  let facts: DevFacts;
  try {
    facts = readDevFacts(dataDir);
  } catch (error) {
    if (databaseUrl !== undefined) return own;
    if (!(error instanceof SetupError)) throw error;
    throw new SetupError(`${error.message}, or set DATABASE_URL`, { cause: error });
  }
  const isAnother = databaseUrl !== undefined && databaseUrl !== facts.environment['DATABASE_URL'];
  return isAnother ? own : environmentOver(facts.environment, own);
}

/** `npm run -s admin -- <command>`: the operators' command line on a developer's machine. */
await adminMain(findSettings, {
  call: 'npm run -s admin --',
  uses: 'The commands use the service that npm start runs in DATA_DIR, or that of DATABASE_URL.',
});
