import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import postgres from 'postgres';
import { vi } from 'vitest';
import { COLUMN_NAMES } from '../../src/db/client.ts';

/** A connection that keeps the text of each statement it sends. */
export function countingSql(url: string) {
  const statements: string[] = [];
  const sql = postgres(url, {
    max: 1,
    onnotice: () => {},
    transform: COLUMN_NAMES,
    debug: (_connection, query) => void statements.push(query.trim()),
  });
  return { sql, statements };
}

/** How many rows each table of the accounts has. */
export async function countRows(sql: postgres.Sql) {
  const [row] = await sql<[Record<string, number>]>`
    SELECT (SELECT count(*) FROM audit_log)::int AS audit,
      (SELECT count(*) FROM account_attempts)::int AS attempts,
      (SELECT count(*) FROM sign_ups)::int AS sign_ups,
      (SELECT count(*) FROM one_time_links)::int AS links`;
  return row;
}

/** What decides how long a function of node:crypto takes: its name, and its costs or its lengths. */
type CryptoCall = readonly [name: string, ...costs: unknown[]];

/**
 * Keeps which password hashes, HMACs and comparisons in constant time the code under test computes,
 * until `stop`.
 */
export function countingCrypto() {
  const calls: CryptoCall[] = [];
  const argon2 = crypto.argon2.bind(crypto);
  const createHmac = crypto.createHmac.bind(crypto);
  const timingSafeEqual = crypto.timingSafeEqual.bind(crypto);
  const spies = [
    vi.spyOn(crypto, 'argon2').mockImplementation((algorithm, parameters, callback) => {
      const { memory, passes, parallelism, tagLength } = parameters;
      calls.push(['argon2', algorithm, memory, passes, parallelism, tagLength]);
      argon2(algorithm, parameters, callback);
    }),
    vi.spyOn(crypto, 'createHmac').mockImplementation((algorithm, key, options) => {
      calls.push(['createHmac', algorithm]);
      return createHmac(algorithm, key, options);
    }),
    vi.spyOn(crypto, 'timingSafeEqual').mockImplementation((left, right) => {
      calls.push(['timingSafeEqual', left.byteLength, right.byteLength]);
      return timingSafeEqual(left, right);
    }),
  ];
  syncBuiltinESMExports();
  return {
    calls,
    stop() {
      for (const spy of spies) spy.mockRestore();
      syncBuiltinESMExports();
    },
  };
}

/** Keeps the hashes of a password from being made until `release`. */
export function holdingHashes(password: string) {
  const argon2 = crypto.argon2.bind(crypto);
  const held = Promise.withResolvers<void>();
  const spy = vi.spyOn(crypto, 'argon2').mockImplementation((algorithm, parameters, callback) => {
    const make = () => argon2(algorithm, parameters, callback);
    if (Buffer.from(parameters.message as Buffer).toString() !== password) make();
    else void held.promise.then(make);
  });
  syncBuiltinESMExports();
  return {
    release() {
      spy.mockRestore();
      syncBuiltinESMExports();
      held.resolve();
    },
  };
}
