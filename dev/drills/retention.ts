import { Client } from '@temporalio/client';
import { loadConfig } from '../../src/config.ts';
import { RETENTION_WORKFLOW, SCHEDULE_IDS } from '../../src/contracts/ids.ts';
import { KEPT_DAYS } from '../../src/privacy/retention.ts';
import { makeOrders, type Drill } from './support/load.ts';
import { proveNothingLost } from './support/proof.ts';
import { prove, waitFor } from './support/report.ts';

const DAYS = Math.max(...Object.values(KEPT_DAYS));
const ORDERS = 8;
const DELETED_WITHIN_MS = 60_000;
const SENT_WITHIN_MS = 90_000;

/** Lets callbacks, answers, mails and sign-ups pass their time, and runs the Schedule. */
export async function retention(drill: Drill): Promise<void> {
  const { withSql } = drill;
  const old = await makeOrders(drill, ORDERS, ['completed', 'refunded'], 4);
  await untilSent(drill);
  await withSql(async (sql) => {
    const then = sql`now() - ${DAYS + 1} * interval '1 day'`;
    await sql`UPDATE gateway_callbacks SET received_at = ${then}`;
    await sql`UPDATE webhook_attempts SET at = ${then}, response_body = 'Thanks'`;
    await sql`
      INSERT INTO mails (mail_id, created_at, sent_at) VALUES ('mail_of_the_drill', ${then}, ${then})`;
    await sql`
      INSERT INTO sign_ups (token_hash, email, business_name, password_hash, expires_at)
      VALUES (decode(repeat('00', 32), 'hex'), 'drill@example.com', 'Drill', 'x', ${then})`;
  });
  await makeOrders(drill, ORDERS, ['completed', 'refunded'], 4);
  await untilSent(drill);
  await withSql(
    (sql) => sql`UPDATE webhook_attempts SET response_body = 'Thanks' WHERE response_body IS NULL`,
  );
  const before = await counts(drill);
  prove('There is data that has passed its time', before.old.every(Boolean), textOf(before.old));

  await triggerRetention(drill);
  await waitFor('the data is deleted', DELETED_WITHIN_MS, async () =>
    (await counts(drill)).old.every((count) => count === 0),
  );
  const after = await counts(drill);
  prove('What has passed its time is deleted', !after.old.some(Boolean), textOf(after.old));
  prove('What has not stays', after.kept.join() === before.kept.join(), textOf(after.kept));
  const [delivery] = JSON.parse(
    await drill.admin('delivery', 'list', '--order', old[0]?.orderNumber ?? '', '--json'),
  ) as { deliveryId: string }[];
  const sent = await drill.admin('delivery', 'retry', '--delivery', delivery?.deliveryId ?? '');
  prove('An old webhook can still be sent again', sent.includes('DELIVERED'));
  await proveNothingLost(drill);
}

/** Waits until every webhook was sent, so that its attempt is recorded. */
function untilSent({ withSql, merchant }: Drill): Promise<unknown> {
  return waitFor('the webhooks are sent', SENT_WITHIN_MS, () =>
    withSql(async (sql) => {
      const open = await sql`
        SELECT FROM webhook_deliveries WHERE merchant_id = ${merchant.merchantId}
          AND (state = 'PENDING' OR attempt_token IS NOT NULL)
        UNION ALL SELECT FROM orders WHERE merchant_id = ${merchant.merchantId}
          AND status NOT IN ('COMPLETED', 'REFUNDED')`;
      return open.length === 0;
    }),
  );
}

const KINDS = ['callbacks', 'answers', 'mails', 'sign-ups'];
const textOf = (numbers: readonly number[]) =>
  numbers.map((count, index) => `${count} ${KINDS[index] ?? 'attempts'}`).join(', ');

/** How many have passed their time, and how many have not; the attempts of old answers stay. */
function counts({ withSql }: Drill): Promise<{ old: number[]; kept: number[] }> {
  return withSql(async (sql) => {
    const isOld = (column: string) => sql`(${sql(column)} < now() - ${DAYS} * interval '1 day')`;
    const [row] = await sql<{ old: number[]; kept: number[] }[]>`
      SELECT
        ARRAY[
          (SELECT count(*)::int FROM gateway_callbacks WHERE ${isOld('received_at')}),
          (SELECT count(response_body)::int FROM webhook_attempts WHERE ${isOld('at')}),
          (SELECT count(*)::int FROM mails WHERE sealed IS NULL AND ${isOld('created_at')}),
          (SELECT count(*)::int FROM sign_ups WHERE expires_at <= now())] AS old,
        ARRAY[
          (SELECT count(*)::int FROM gateway_callbacks WHERE NOT ${isOld('received_at')}),
          (SELECT count(response_body)::int FROM webhook_attempts WHERE NOT ${isOld('at')}),
          (SELECT count(*)::int FROM mails WHERE NOT ${isOld('created_at')}),
          (SELECT count(*)::int FROM sign_ups WHERE expires_at > now()),
          (SELECT count(*)::int FROM webhook_attempts)] AS kept`;
    return row ?? { old: [], kept: [] };
  });
}

/** Runs the Schedule now instead of within the hour. */
function triggerRetention(drill: Drill): Promise<void> {
  const { temporalHousekeepingNamespace: namespace } = loadConfig(drill.environment());
  return drill.withTemporal(async ({ connection }) => {
    const housekeeping = new Client({ connection, namespace });
    await housekeeping.schedule.getHandle(SCHEDULE_IDS[RETENTION_WORKFLOW]).trigger();
  });
}
