import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { RETENTION_WORKFLOW, SCHEDULE_IDS, TASK_QUEUE } from '../../src/contracts/ids.ts';
import type { Sql } from '../../src/db/client.ts';
import { KEPT_DAYS } from '../../src/privacy/retention.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real' });

const run = ({ temporal }: TestService) =>
  temporal.client.workflow.execute<() => Promise<Record<string, number>>>(RETENTION_WORKFLOW, {
    workflowId: `retention-${randomUUID()}`,
    taskQueue: TASK_QUEUE,
  });

const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);

const writeCallbacks = (sql: Sql, count: number, days: number) => sql`
  INSERT INTO gateway_callbacks (gateway, environment, event_id, event, body, received_at)
  SELECT 'razorpay', 'sandbox', 'evt_' || n, 'payment.captured', ${`received ${days} days ago`},
    ${daysAgo(days)}
  FROM generate_series(1, ${count}::integer) AS n`;

const writeMail = (sql: Sql, days: number, isSent: boolean) => sql`
  INSERT INTO mails (mail_id, sealed, created_at, sent_at)
  VALUES (${`mail_${randomUUID()}`}, ${isSent ? null : Buffer.from('sealed')}, ${daysAgo(days)},
    ${isSent ? daysAgo(days) : null})`;

async function writeAccess(sql: Sql, userId: string, expiresAt: Date): Promise<void> {
  const hash = () => randomBytes(32);
  await sql`
    INSERT INTO sign_ups (token_hash, email, business_name, password_hash, expires_at)
    VALUES (${hash()}, 'a@example.com', 'Asha', 'x', ${expiresAt})`;
  await sql`
    INSERT INTO one_time_links (token_hash, user_id, purpose, expires_at)
    VALUES (${hash()}, ${userId}, 'reset_password', ${expiresAt})`;
  await sql`
    INSERT INTO pending_logins (token_hash, user_id, expires_at)
    VALUES (${hash()}, ${userId}, ${expiresAt})`;
  await sql`
    INSERT INTO dashboard_sessions (session_id, token_hash, user_id, expires_at, address, user_agent)
    VALUES (${`ses_${randomUUID()}`}, ${hash()}, ${userId}, ${expiresAt}, '127.0.0.1', 'x')`;
  await sql`
    INSERT INTO known_devices (user_id, token_hash, last_used_at)
    VALUES (${userId}, ${hash()}, ${expiresAt}::timestamptz - interval '400 days')`;
  await sql`
    INSERT INTO kept_forms (holder, path, content_sealed, expires_at)
    VALUES (${`user:${randomUUID()}`}, '/dashboard/sandbox/keys', ${hash()}, ${expiresAt})`;
  await sql`
    INSERT INTO account_attempts (purpose, subject, address, attempts, first_at, last_at)
    VALUES ('log_in', ${hash()}, '127.0.0.1', 1, ${expiresAt}, ${expiresAt})`;
}

async function countOf(sql: Sql, table: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`SELECT count(*) FROM ${sql(table)}`;
  return row?.count ?? -1;
}

test('expired rows are deleted in batches; others stay', async ({ service, merchant }) => {
  const { sql } = service;
  await writeCallbacks(sql, 2500, KEPT_DAYS.callbacks + 1);
  await writeCallbacks(sql, 3, KEPT_DAYS.callbacks - 1);
  await writeMail(sql, KEPT_DAYS.mails + 1, true);
  await writeMail(sql, KEPT_DAYS.mails - 1, true);
  await writeMail(sql, KEPT_DAYS.mails + 1, false);
  const userId = `usr_${randomUUID()}`;
  await sql`
    INSERT INTO users (user_id, email, merchant_id)
    VALUES (${userId}, 'owner@example.com', ${merchant.merchantId})`;
  await writeAccess(sql, userId, daysAgo(3));
  await writeAccess(sql, userId, daysAgo(-3));

  expect(await run(service)).toEqual({
    callbacks: 2500,
    webhookAnswers: 0,
    mails: 1,
    signUps: 1,
    links: 1,
    logins: 1,
    sessions: 1,
    devices: 1,
    forms: 1,
    attempts: 1,
  });
  const left = await sql`SELECT DISTINCT body FROM gateway_callbacks`;
  expect(left.map(({ body }) => body)).toEqual([`received ${KEPT_DAYS.callbacks - 1} days ago`]);
  expect(await countOf(sql, 'mails')).toBe(2);
  for (const table of ['sign_ups', 'one_time_links', 'pending_logins', 'dashboard_sessions']) {
    expect(await countOf(sql, table), table).toBe(1);
  }
  expect(Object.values(await run(service)).every((count) => count === 0)).toBe(true);
});

test('the answer to an old webhook is deleted; its attempt stays, and it can be sent again', async ({
  service,
  merchant,
  cli,
}) => {
  const { sql } = service;
  const { order_number: orderNumber } = await merchant.sandbox.create();
  await merchant.receiver.until(1, ({ body }) => body.data['order_number'] === orderNumber);
  const attempts = () => sql<{ deliveryId: string; answer: string | null; statusCode: number }[]>`
    SELECT a.delivery_id, encode(response_body, 'escape') AS answer, status_code
    FROM webhook_attempts a JOIN webhook_deliveries USING (delivery_id)
    JOIN order_events USING (event_id) WHERE order_number = ${orderNumber} ORDER BY attempt_id`;
  await expect.poll(async () => (await attempts()).length).toBe(1);
  expect(await run(service)).toMatchObject({ webhookAnswers: 0 });
  expect(await attempts()).toMatchObject([{ answer: 'ok' }]);
  await sql`UPDATE webhook_attempts SET at = ${daysAgo(KEPT_DAYS.webhookAnswers + 1)}`;
  expect(await run(service)).toMatchObject({ webhookAnswers: 1 });
  const [attempt] = await attempts();
  expect(attempt).toMatchObject({ answer: null, statusCode: 200 });
  const retry = ['delivery', 'retry', '--delivery', attempt?.deliveryId ?? ''];
  expect(await cli.json(...retry)).toMatchObject({ outcome: 'delivered' });
});

test('a Schedule deletes expired data every hour', async ({ service, onTestFinished }) => {
  const { client } = service.temporal;
  await ensureSchedules(client, { sweepAfterMs: 3_600_000 });
  onTestFinished(async () => {
    for (const id of Object.values(SCHEDULE_IDS)) await client.schedule.getHandle(id).delete();
  });
  const { spec, action } = await client.schedule
    .getHandle(SCHEDULE_IDS[RETENTION_WORKFLOW])
    .describe();
  expect(spec.intervals).toMatchObject([{ every: 3_600_000 }]);
  expect(action).toMatchObject({ workflowType: 'deleteExpiredData', taskQueue: TASK_QUEUE });
});

test('callbacks are kept for longer than Temporal keeps closed workflows, 7 days', () => {
  expect(KEPT_DAYS.callbacks).toBeGreaterThan(7);
});
