import { env } from 'node:process';

/** What the processes that tests start have of the test run: where programs are, what Node compiled. */
export const PART_ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: env['PATH'],
  NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'],
};
