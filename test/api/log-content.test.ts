import { describe, expect, test } from 'vitest';
import { describeError, safeFields, safeLine } from '../../src/main/process/log-content.ts';
import { databaseTest } from '../support/fixtures.ts';

/** What pino would write, without its own fields. */
const lineOf = (fields: Record<string, unknown>) => safeLine(JSON.stringify(safeFields(fields)));

const EMAIL = 'canary.buyer@example.com';

describe('an error in the log', () => {
  test('keeps kind, code, stack and causes, and loses what libraries attach to it', () => {
    const cause = Object.assign(new TypeError('Invalid URL'), {
      code: 'ERR_INVALID_URL',
      input: 'https://shop.example/hook?token=canary',
    });
    const error = new Error('The webhook could not be sent', { cause });
    const line = lineOf({ err: error });
    expect(JSON.parse(line).err).toMatchObject({
      type: 'Error',
      message: 'The webhook could not be sent',
      stack: expect.stringContaining('log-content.test'),
      cause: { type: 'TypeError', message: 'Invalid URL', code: 'ERR_INVALID_URL' },
    });
    expect(line).not.toContain('canary');
  });

  test('quotes no part of a malformed body', () => {
    const parse = () => JSON.parse(`{"buyerName": canary "of" the body}`) as unknown;
    expect(parse).toThrow(/canary/);
    try {
      parse();
    } catch (error) {
      expect(lineOf({ err: error })).not.toContain('canary');
      expect(describeError(error as Error)).toMatchObject({
        type: 'SyntaxError',
        message: expect.stringMatching(/JSON/),
      });
    }
  });

  test('may be anywhere in the fields of the line', () => {
    const error = new Error(`550 5.1.1 <${EMAIL}>: user unknown`);
    const line = lineOf({ job: { attempts: [{ failure: error }] } });
    expect(line).toContain('user unknown');
    expect(line).not.toContain('canary');
    expect(lineOf({ err: new AggregateError([error], 'All failed') })).not.toContain('canary');
  });
});

describe('a line of the log', () => {
  test('has neither secrets nor data of buyers, at any depth', () => {
    const line = lineOf({
      orderNumber: 'ORD1',
      body: { buyerName: 'canary' },
      order: { buyer: { name: 'canary' }, sent: [{ headers: { cookie: 'canary' } }] },
      reason: `sk_test_canary and whsec_canary of ${EMAIL}, payable to canary@upi`,
    });
    expect(line).toContain('ORD1');
    expect(line).not.toContain('canary');
  });

  test('keeps the paths of packages, whose names begin with an @', () => {
    const path = '/app/node_modules/@temporalio/worker/lib/worker.js:1:2';
    expect(safeLine(path)).toBe(path);
  });
});

databaseTest()(
  'an error of PostgreSQL is logged without the values of the row',
  async ({ database }) => {
    const { sql } = database;
    const canary = 'canary-in-a-row';
    await sql`CREATE TABLE canaries (text text PRIMARY KEY CHECK (length(text) < 20))`;
    await sql`INSERT INTO canaries VALUES (${canary})`;
    const failures = await Promise.allSettled([
      sql`INSERT INTO canaries VALUES (${canary})`,
      sql`INSERT INTO canaries VALUES (${`${canary} that is too long`})`,
      sql`SELECT ${canary}::text::uuid`,
      sql`SELECT ${`{${canary}`}::text::jsonb`,
    ]);
    const errors = failures.map((failure) => failure.status === 'rejected' && failure.reason);
    expect(errors.map((error) => (error as { code?: string }).code)).toEqual([
      '23505',
      '23514',
      '22P02',
      '22P02',
    ]);
    const lines = errors.map((err) => lineOf({ err }));
    expect(lines.join('\n')).not.toContain('canary-in');
    expect(lines[0]).toContain('canaries_pkey');
  },
);
