import { env } from 'node:process';
import { test } from 'vitest';
import { runSeed } from './run.ts';
import { startHost } from './system.ts';

/** One run restores PostgreSQL, the other one Temporal. */
const SEEDS = env['RANDOM_SEED'] ? [Number(env['RANDOM_SEED'])] : [5, 10];
const ORDERS = Number(env['RANDOM_ORDERS'] ?? 30);

// Most of the time each run waits for retries of the work of a killed process.
test.concurrent.for(SEEDS)(
  `whatever happens to ${ORDERS} orders, each ends or has an alert, and the money adds up: seed %i`,
  async (seed, { onTestFinished }) => {
    const host = await startHost();
    onTestFinished(() => host.stop());
    console.log(await runSeed(host, seed, ORDERS));
  },
);
