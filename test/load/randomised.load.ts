import { env } from 'node:process';
import { test as base } from 'vitest';
import { runSeed } from '../randomised/run.ts';
import { startHost } from '../randomised/system.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';

const SEEDS = Number(env['LOAD_SEEDS'] ?? 100);
const FIRST_SEED = Number(env['RANDOM_SEED'] ?? 1);
const ORDERS = Number(env['LOAD_ORDERS'] ?? 300);

const test = base
  .extend('isReal', { scope: 'file' }, true)
  .extend('host', { scope: 'file' }, ({ isReal: _isReal }, { onCleanup }) =>
    stoppedAtEnd(startHost(), onCleanup),
  );

const seeds = Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index);

test.for(seeds)(
  `whatever happens to ${ORDERS} orders, each ends or has an alert, and the money adds up: seed %i`,
  async (seed, { host }) => {
    console.log(await runSeed(host, seed, ORDERS));
  },
);
