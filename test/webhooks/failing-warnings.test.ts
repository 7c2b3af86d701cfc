import { expect } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { WEBHOOK_RETRY_DELAYS_MS } from '../../src/domain/index.ts';
import { sendMail } from '../../src/mail/public.ts';
import { attemptManually } from '../../src/webhooks/schedule/leased-attempts.ts';
import {
  lastAttempts,
  warnOfFailingEndpoints,
} from '../../src/webhooks/schedule/failing-warnings.ts';
import type { Merchant } from '../support/merchant.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { merchantUser } from '../support/users.ts';
import { untilRefused } from './deliveries.ts';

const DELIVERIES = 10_000;

const smtp = await startSmtpReceiver();
const test = serviceTest({
  time: 'skipping',
  settings: { SMTP_URL: smtp.url, MAIL_FROM: 'no-reply@payments.example' },
});
test.afterAll(() => smtp.stop());

const ownerOf = ({ merchantId }: Merchant) => ({ merchantId, environment: 'sandbox' as const });
const depsOf = ({ deps }: TestService) => ({
  ...deps,
  sendMail: (mail: Parameters<typeof sendMail>[1]) => sendMail(deps, mail),
});
const warn = (service: TestService) => createActivities(service.deps).warnOfFailingEndpoints();

const mailIdsOf = async ({ sql }: TestService, { merchantId }: Merchant) =>
  (
    await sql<{ mailId: string }[]>`
      SELECT mail_id FROM mails WHERE mail_id LIKE ${`webhooks-${merchantId}-%`}`
  ).map(({ mailId }) => mailId);

/** Deliveries of which two attempts have failed. */
async function failing(service: TestService, merchant: Merchant, count: number) {
  const { sql } = service;
  const { orderNumber } = await writeOrder(service, merchant);
  const prefix = `${merchant.merchantId}-${Date.now()}-`;
  await sql`
    WITH event AS (
      INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
      SELECT ${`evt_${prefix}`} || i, ${orderNumber}, i, i, 'PAYMENT_FAILED', now(), '{}'
      FROM generate_series(2, ${count + 1}::integer) AS i
    )
    INSERT INTO webhook_deliveries
      (delivery_id, event_id, merchant_id, environment, event_type, failed_attempts,
        next_attempt_at)
    SELECT ${`dlv_${prefix}`} || i, ${`evt_${prefix}`} || i, ${merchant.merchantId}, 'sandbox',
      'PAYMENT_FAILED', 2, now() + i * interval '1 second'
    FROM generate_series(2, ${count + 1}::integer) AS i`;
}

/** Moves the latest warning of a merchant into the past. */
const warnedHoursAgo = ({ sql }: TestService, { merchantId }: Merchant, hours: number) => sql`
  UPDATE webhook_warnings SET warned_at = clock_timestamp() - ${hours} * interval '1 hour'
  WHERE merchant_id = ${merchantId}`;

test('after the second refused attempt, and not before, the merchant’s user gets one mail', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  const { email } = await merchantUser(service.sql, merchant.merchantId);
  merchant.receiver.answerWith(() => 500);
  const { order_number: orderNumber } = await merchant.sandbox.create();
  for (const [index, delayMs] of WEBHOOK_RETRY_DELAYS_MS.entries()) {
    const { nextAttemptAt } = await untilRefused(service, orderNumber, index + 1);
    const isLast = index === WEBHOOK_RETRY_DELAYS_MS.length - 1;
    expect(await warn(service)).toEqual({ mails: index === 1 ? 1 : 0 });
    const left = { count: 1, firstAt: nextAttemptAt };
    expect(await lastAttempts(service.sql, ownerOf(merchant))).toEqual(isLast ? left : undefined);
    if (!isLast) await service.skip(delayMs + 1000);
  }
  const [mail] = await smtp.received(email);
  expect(mail?.subject).toBe('Your webhooks do not arrive (sandbox)');
  expect(mail?.text).toContain('/dashboard/sandbox/deliveries?state=');
  expect(mail?.text).toContain(new URL(merchant.receiver.url).host);
  expect(mail?.text).not.toContain(merchant.receiver.url);

  merchant.receiver.answerWith(() => 200);
  const [row] = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries WHERE merchant_id = ${merchant.merchantId}`;
  await attemptManually(service.deps, row?.deliveryId ?? '');
  expect(await lastAttempts(service.sql, ownerOf(merchant))).toBeUndefined();
});

test('10,000 deliveries make one mail until the endpoint has accepted one, and at most one in 24 hours', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  await failing(service, merchant, DELIVERIES);
  expect(await warn(service)).toEqual({ mails: 1 });
  const [mail] = await smtp.received('owner@example.com');
  expect(mail?.text).toContain('Webhooks that wait: 10000');
  const mails = async () => (await mailIdsOf(service, merchant)).length;
  expect(await mails()).toBe(1);
  await warn(service);
  expect(await mails()).toBe(1);

  // The same failure is no news after days; nor is a new one within 24 hours.
  await warnedHoursAgo(service, merchant, 60);
  await warn(service);
  expect(await mails()).toBe(1);
  const { orderNumber } = await writeOrder(service, merchant);
  const [row] = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries JOIN order_events USING (event_id)
    WHERE order_number = ${orderNumber}`;
  await attemptManually(service.deps, row?.deliveryId ?? '');
  await warnedHoursAgo(service, merchant, 23);
  await service.sql`
    UPDATE webhook_attempts SET at = clock_timestamp() - interval '1 hour'
    WHERE merchant_id = ${merchant.merchantId}`;
  await warn(service);
  expect(await mails()).toBe(1);
  await warnedHoursAgo(service, merchant, 25);
  await warn(service);
  expect(await mails()).toBe(2);
});

test('a mail that a crash has prevented is written by the next run, once', async ({ service }) => {
  const merchant = await service.newMerchant();
  const other = await service.newMerchant();
  await failing(service, merchant, 1);
  await failing(service, other, 1);
  const deps = depsOf(service);
  const crashFor = (crashing: Merchant, isWritten: boolean) =>
    warnOfFailingEndpoints({
      ...deps,
      async sendMail(mail) {
        const isOf = mail.mailId?.includes(crashing.merchantId);
        if (!isOf || isWritten) await deps.sendMail(mail);
        if (isOf) throw new Error('The process dies');
      },
    });
  expect(await crashFor(merchant, false)).toEqual({ mails: 1 });
  expect(await mailIdsOf(service, merchant)).toEqual([]);
  expect(await mailIdsOf(service, other)).toHaveLength(1);
  expect(await crashFor(merchant, true)).toEqual({ mails: 0 });
  expect(await warn(service)).toEqual({ mails: 1 });
  expect(await mailIdsOf(service, merchant)).toHaveLength(1);
  expect(await warn(service)).toEqual({ mails: 0 });
});
