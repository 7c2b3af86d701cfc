import type { Actor } from '../../src/db/actor.ts';

/** Who makes the changes that tests make without the API and without the command line. */
export const TEST_ACTOR: Actor = { name: 'cli:test', address: null };

export const A_BUYER: Actor = { name: 'buyer', address: '203.0.113.9' };
