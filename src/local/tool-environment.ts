import { cacheRoot } from './cache.ts';

/** What the local servers' launchers need of the environment; the rest is only handed on. */
export interface ToolEnvironment {
  readonly temporalCliPath: string | undefined;
  readonly temporalTestServerPath: string | undefined;
  /** The project's own folder below XDG_CACHE_HOME. */
  readonly cacheRoot: string;
  /** Whether npm runs us, and its end should be ours. */
  readonly startedByNpm: boolean;
}

/** Reads the settings of the launchers; a variable set to nothing means "not given". */
export function readToolEnvironment(env: NodeJS.ProcessEnv): ToolEnvironment {
  const given = (name: string) => (env[name] === '' ? undefined : env[name]);
  return {
    temporalCliPath: given('TEMPORAL_CLI_PATH'),
    temporalTestServerPath: given('TEMPORAL_TEST_SERVER_PATH'),
    cacheRoot: cacheRoot(given('XDG_CACHE_HOME')),
    startedByNpm: given('npm_lifecycle_event') !== undefined,
  };
}
