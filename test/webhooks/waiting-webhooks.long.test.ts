import { expect, onTestFinished } from 'vitest';
import { startOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DEAD_ORDERS = 300;
const HEALTHY_ORDERS = 30;
/** The number of an endpoint's places. */
const FIRST_TIMEOUTS = 8;
/** A webhook that finds its endpoint full waits at least this long, then four times as long each time. */
const SHORTEST_WAIT_SECONDS = 5;
/** What one try changes: it takes the delivery over from the sweep, begins, and ends. */
const MOST_UPDATES_OF_A_TRY = 3;

/** The most tries of a webhook within so many seconds: by the process that recorded it, and after each wait. */
const mostTriesWithin = (seconds: number) =>
  2 + Math.floor(Math.log(1 + (3 * seconds) / SHORTEST_WAIT_SECONDS) / Math.log(4));

let tries = 0;

const test = serviceTest({
  time: 'real',
  worker: {
    options: {
      interceptors: {
        activity: [
          ({ info }) => ({
            inbound: {
              execute(input, next) {
                if (info.activityType === 'sendWebhook') tries += 1;
                return next(input);
              },
            },
          }),
        ],
      },
    },
  },
});

/** Counts the rows that statements change from now on, exactly and without delay. */
async function countRowUpdates({ sql }: TestService) {
  await sql.unsafe(`
    CREATE TABLE counted_updates (row_count bigint);
    CREATE FUNCTION count_updates() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    AS 'BEGIN INSERT INTO counted_updates SELECT count(*) FROM changed; RETURN NULL; END'`);
  await sql.unsafe(`
    CREATE TRIGGER count_updates AFTER UPDATE ON webhook_deliveries
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_updates()`);
  return async () => {
    const [row] = await sql<{ total: number }[]>`
      SELECT coalesce(sum(row_count), 0)::integer AS total FROM counted_updates`;
    return row?.total ?? 0;
  };
}

test('300 webhooks for an endpoint that never responds wait without work, and those of others arrive', async ({
  service,
}) => {
  const dead = await service.newMerchant();
  dead.receiver.answerWith(() => new Promise(() => {}));
  // Before the worker, which waits for its attempts to end.
  onTestFinished(() => dead.receiver.stop());
  const healthy = await service.newMerchant();
  const rowUpdates = await countRowUpdates(service);
  const merchants = Array.from({ length: DEAD_ORDERS + HEALTHY_ORDERS }, (_, index) =>
    index % 11 === 10 ? healthy : dead,
  );
  const startedAtMs = Date.now();
  await Promise.all(merchants.map((merchant) => startOrder(service, merchant)));
  await healthy.receiver.until(HEALTHY_ORDERS);
  await until(async () => {
    const [row] = await service.sql<{ count: number }[]>`
      SELECT count(*)::integer FROM webhook_attempts WHERE error IS NOT NULL`;
    return (row?.count ?? 0) >= FIRST_TIMEOUTS;
  });

  const waits = () => service.sql`
    SELECT FROM webhook_deliveries WHERE merchant_id = ${dead.merchantId} AND state = 'PENDING'`;
  await until(async () => (await waits()).length === DEAD_ORDERS);

  const updates = await rowUpdates();
  const mostTries = mostTriesWithin((Date.now() - startedAtMs) / 1000);
  expect(updates).toBeLessThanOrEqual(MOST_UPDATES_OF_A_TRY * (tries + merchants.length));
  expect(tries).toBeLessThanOrEqual(mostTries * DEAD_ORDERS);
  const waiting = await service.sql<{ waitSeconds: number; attempts: number }[]>`
    SELECT extract(epoch FROM next_attempt_at - clock_timestamp())::float AS wait_seconds,
      (SELECT count(*)::integer FROM webhook_attempts a WHERE a.delivery_id = d.delivery_id) AS attempts
    FROM webhook_deliveries d
    WHERE merchant_id = ${dead.merchantId} AND state = 'PENDING'`;
  expect(waiting).toHaveLength(DEAD_ORDERS);
  for (const { waitSeconds: seconds } of waiting) expect(seconds).toBeLessThanOrEqual(600);
  // Waiting is not an attempt: each one is a request that the endpoint has seen.
  const attempted = waiting.reduce((sum, { attempts }) => sum + attempts, 0);
  expect(attempted).toBeLessThanOrEqual(dead.receiver.received.length);
  expect(dead.receiver.received.length).toBeLessThan(DEAD_ORDERS / 3);
});
