import { env } from 'node:process';

/** The environment that processes started by tests inherit: where programs are, what Node compiled. */
export const PART_ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: env['PATH'],
  NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'],
};
