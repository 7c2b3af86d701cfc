import { env } from 'node:process';
import { test as base } from 'vitest';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { runSeed } from './run.ts';
import { startHost } from './world.ts';

/** The first sees its PostgreSQL restored, the second its Temporal; RANDOM_SEED repeats another one. */
const SEEDS = env['RANDOM_SEED'] ? [Number(env['RANDOM_SEED'])] : [1, 2];
const ORDERS = Number(env['RANDOM_ORDERS'] ?? 30);

const test = base
  .extend('isReal', { scope: 'file' }, true)
  .extend('host', { scope: 'file' }, ({ isReal: _isReal }, { onCleanup }) =>
    stoppedAtEnd(startHost(), onCleanup),
  );

test.for(SEEDS)(
  `whatever happens to ${ORDERS} orders, each ends or has an alert, and the money adds up: seed %i`,
  { timeout: 600_000 },
  async (seed, { host }) => {
    console.log(await runSeed(host, seed, ORDERS));
  },
);
