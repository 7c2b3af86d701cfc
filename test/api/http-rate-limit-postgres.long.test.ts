import { pino } from 'pino';
import { expect } from 'vitest';
import { createPostgresRateLimiter } from '../../src/http/limits/rate-limit-shared.ts';
import { databaseTest } from '../support/fixtures.ts';

const LIMIT = 10;
/** The limiter admits so many in no less than three seconds. */
const ADMISSIONS = 4 * LIMIT;

const test = databaseTest();

test('never an eleventh within any one second, as PostgreSQL measures it, of eight clients of two processes', async ({
  database: { sql },
}) => {
  await sql.unsafe(`
    CREATE TABLE admissions (admitted_at timestamptz NOT NULL);
    CREATE FUNCTION keep_admission() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO admissions VALUES (NEW.admitted_at[cardinality(NEW.admitted_at)]);
      RETURN NULL;
    END $$;
    CREATE TRIGGER keep_admission AFTER INSERT OR UPDATE ON rate_limits
    FOR EACH ROW EXECUTE FUNCTION keep_admission()`);
  const log = pino({ level: 'silent' });
  const limiters = [1, 2].map(() => createPostgresRateLimiter(sql, { limitPerSecond: LIMIT, log }));
  let admitted = 0;
  const client = async (index: number) => {
    while (admitted < ADMISSIONS) {
      if (await limiters[index % 2]?.admit('192.0.2.1')) admitted += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => client(index)));
  const [row] = await sql<[{ kept: number; tooClose: number }]>`
    SELECT count(*)::int AS kept,
      count(*) FILTER (WHERE eleventh - admitted_at <= interval '1 second')::int AS too_close
    FROM (SELECT admitted_at, lead(admitted_at, ${LIMIT}) OVER (ORDER BY admitted_at) AS eleventh
      FROM admissions) AS pairs`;
  expect(row).toEqual({ kept: admitted, tooClose: 0 });
});
