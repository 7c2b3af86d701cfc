import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import type { EventType } from '../../src/domain/index.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { attemptManually, attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import type { ListPart } from '../../src/db/list-part.ts';
import type { DeliveryPageFilter } from '../../src/webhooks/lists/delivery-pages.ts';
import { pageDeliveries } from '../../src/webhooks/lists/delivery-pages.ts';
import { attemptsByHour, endpointFigures } from '../../src/webhooks/endpoints/endpoint-figures.ts';
import { rotateWebhookSecret } from '../../src/webhooks/endpoints/endpoints.ts';
import { findAttempt, findMerchantDelivery } from '../../src/webhooks/lists/merchant-delivery.ts';
import type { SentRequest } from '../../src/webhooks/sending/signed-request.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { Merchant } from '../support/merchant.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;
const FIRST = { skip: 0, limit: 25 };

const test = serviceTest({ time: 'real', worker: false });

const ownerOf = ({ merchantId }: Merchant) => ({ merchantId, environment: 'sandbox' as const });

/** A new order, and the id of its delivery, which has had no attempt. */
async function aDelivery(service: TestService, merchant: Merchant) {
  const { orderNumber } = await writeOrder(service, merchant);
  const [row] = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries JOIN order_events USING (event_id)
    WHERE order_number = ${orderNumber}`;
  return { orderNumber, deliveryId: row?.deliveryId ?? '' };
}

/** An endpoint that keeps the bytes of each request as they arrive, and answers 503. */
async function startRawReceiver(answer: Buffer) {
  const requests: string[] = [];
  const server = createServer((socket) => {
    let bytes = '';
    socket.on('data', (chunk) => {
      bytes += chunk.toString('latin1');
      const length = Number(/content-length: (\d+)/.exec(bytes)?.[1]);
      const [head = '', body = ''] = bytes.split('\r\n\r\n');
      if (body.length < length) return;
      requests.push(`${head}\r\n\r\n${Buffer.from(body, 'latin1').toString()}`);
      socket.write(
        `HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: ${answer.length}\r\n\r\n`,
      );
      socket.end(answer);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { requests, url: `http://127.0.0.1:${port}/hooks?shop=1`, stop: () => server.close() };
}

const rawOf = ({ method, path, headers, body }: SentRequest) =>
  [
    `${method} ${path} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');

test('an attempt shows its request byte by byte as it was sent, also after the secret was replaced', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  const receiver = await startRawReceiver(Buffer.from('a'.repeat(20_000)));
  await service.sql`
    UPDATE merchant_environments SET webhook_url = ${receiver.url}
    WHERE merchant_id = ${merchant.merchantId}`;
  const { deliveryId } = await aDelivery(service, merchant);
  await attemptScheduled(service.deps, deliveryId);
  const secretBox = createSecretBox(service.config.webhookSecretKeys ?? '');
  const admin = { sql: service.sql, secretBox, actor: TEST_ACTOR };
  await rotateWebhookSecret(admin, merchant.merchantId, 'sandbox');
  await attemptManually(service.deps, deliveryId);
  receiver.stop();

  const delivery = await findMerchantDelivery(service.sql, ownerOf(merchant), deliveryId);
  const attempts = await Promise.all(
    delivery.attempts
      .toReversed()
      .map(({ attemptId }) => findAttempt(service.sql, delivery, attemptId)),
  );
  expect(attempts.map(({ request }) => request && rawOf(request))).toEqual(receiver.requests);
  expect(receiver.requests[0]).not.toBe(receiver.requests[1]);
  expect(attempts[0]).toMatchObject({ kind: 'scheduled', statusCode: 503, error: 'answered 503' });
  expect(attempts[1]?.answer).toBe('a'.repeat(16_384));
});

test('an attempt whose URL was refused shows no request, because nothing was sent', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  await service.sql`
    UPDATE merchant_environments SET webhook_url = 'http://10.0.0.1/'
    WHERE merchant_id = ${merchant.merchantId}`;
  const { deliveryId } = await aDelivery(service, merchant);
  await attemptScheduled(service.deps, deliveryId);
  const delivery = await findMerchantDelivery(service.sql, ownerOf(merchant), deliveryId);
  const [{ attemptId } = { attemptId: 0 }] = delivery.attempts;
  const { request, answer, error } = await findAttempt(service.sql, delivery, attemptId);
  expect({ request, answer }).toEqual({ request: null, answer: null });
  expect(error).toContain('must not point to');
});

test('a delivery of another merchant or environment is not found', async ({
  service,
  merchant,
}) => {
  const { deliveryId } = await aDelivery(service, merchant);
  const { merchantId } = merchant;
  for (const owner of [
    { merchantId: 'mer_other', environment: 'sandbox' as const },
    { merchantId, environment: 'production' as const },
  ]) {
    const reading = findMerchantDelivery(service.sql, owner, deliveryId);
    await expect(reading).rejects.toThrow(`Delivery not found: ${deliveryId}`);
  }
});

/** Sixty deliveries of one order, a minute apart, of two types and every state, and others' deliveries. */
async function sixtyDeliveries(service: TestService, merchant: Merchant, from: Date) {
  const { sql } = service;
  const { orderNumber } = await writeOrder(service, merchant);
  await sql`DELETE FROM webhook_deliveries WHERE merchant_id = ${merchant.merchantId}`;
  const { encodeTime } = await import('ulid');
  const types: EventType[] = ['PAYMENT_FAILED', 'DISPUTE_RAISED'];
  const rows = Array.from({ length: 60 }, (_, index) => ({
    eventId: `evt_${merchant.merchantId}${index}`,
    deliveryId: `dlv_${encodeTime(from.getTime() + index * 60_000)}${'0'.repeat(16)}`,
    eventType: types[index % 10 === 0 ? 1 : 0] ?? '',
    state: ['DELIVERED', 'PENDING', 'FAILED'][index % 3] ?? '',
    sequence: index + 2,
  }));
  await sql`
    WITH new AS (
      SELECT * FROM jsonb_to_recordset(${sql.json(rows)}) AS row ("eventId" text,
        "deliveryId" text, "eventType" text, state delivery_state, sequence integer)
    ), events AS (
      INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
      SELECT "eventId", ${orderNumber}, sequence, sequence, "eventType", now(), '{}' FROM new
    )
    INSERT INTO webhook_deliveries (delivery_id, event_id, merchant_id, environment, event_type, state)
    SELECT "deliveryId", "eventId", ${merchant.merchantId}, 'sandbox', "eventType", state FROM new`;
  return { orderNumber, rows };
}

test('pages of deliveries are complete, newest first and without repeats, with every filter', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  const other = await service.newMerchant();
  const from = new Date(Date.UTC(2026, 0, 1));
  const minutes = (count: number) => new Date(from.getTime() + count * 60_000);
  const { orderNumber, rows } = await sixtyDeliveries(service, merchant, from);
  await sixtyDeliveries(service, other, minutes(0.5));

  /** By the numbers of the pages, and by their keys. */
  const all = async (filter: DeliveryPageFilter) => {
    const read = async (partAfter: (ids: string[]) => ListPart) => {
      const ids: string[] = [];
      for (let hasMore = true; hasMore;) {
        const page = await pageDeliveries(service.sql, ownerOf(merchant), filter, partAfter(ids));
        expect(page.rows.length).toBeLessThanOrEqual(25);
        ids.push(...page.rows.map(({ deliveryId }) => deliveryId));
        ({ hasMore } = page);
      }
      return ids;
    };
    const byNumber = await read((ids) => ({ skip: ids.length, limit: 25 }));
    expect(await read((ids) => ({ skip: 0, limit: 25, after: ids.at(-1) }))).toEqual(byNumber);
    return byNumber;
  };
  type Row = (typeof rows)[number];
  const idsOf = (matches: (row: Row, index: number) => boolean) =>
    rows
      .filter(matches)
      .map(({ deliveryId }) => deliveryId)
      .toReversed();

  expect(await all({})).toEqual(idsOf(() => true));
  expect(await all({ state: 'FAILED' })).toEqual(idsOf(({ state }) => state === 'FAILED'));
  const disputes = idsOf(({ eventType }) => eventType === 'DISPUTE_RAISED');
  expect(await all({ event: 'DISPUTE_RAISED' })).toEqual(disputes);
  expect(await all({ orderNumber, event: 'DISPUTE_RAISED' })).toEqual(disputes);
  expect(await all({ orderNumber })).toEqual(idsOf(() => true));
  expect(await all({ orderNumber: 'ORD-of-no-one' })).toEqual([]);
  expect(await all({ since: minutes(10), until: minutes(40) })).toEqual(
    idsOf((_, index) => index >= 10 && index < 40),
  );
  expect(await all({ orderNumber, state: 'PENDING', since: minutes(50) })).toEqual(
    idsOf(({ state }, index) => state === 'PENDING' && index >= 50),
  );
});

test('a line of the list has the number of attempts and the result of the last one', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  const { orderNumber, deliveryId } = await aDelivery(service, merchant);
  const line = async () =>
    (await pageDeliveries(service.sql, ownerOf(merchant), {}, FIRST)).rows.at(0);
  expect(await line()).toMatchObject({
    deliveryId,
    orderNumber,
    event: 'ORDER_CREATED',
    state: 'PENDING',
    attemptCount: 0,
    lastStatusCode: null,
    lastError: null,
  });
  merchant.receiver.answerWith(() => 500);
  await attemptManually(service.deps, deliveryId);
  merchant.receiver.answerWith(() => 200);
  await attemptScheduled(service.deps, deliveryId);
  expect(await line()).toMatchObject({
    state: 'DELIVERED',
    attemptCount: 2,
    lastStatusCode: 200,
    lastError: null,
  });
});

test('an endpoint has the figures of its last 24 hours, and fails since its first failure after a success', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  const { deliveryId } = await aDelivery(service, merchant);
  const now = Date.now();
  const attempt = (hoursAgo: number, error: string | null, durationMs: number) => service.sql`
    INSERT INTO webhook_attempts
      (delivery_id, merchant_id, environment, kind, at, url, duration_ms, error)
    VALUES (${deliveryId}, ${merchant.merchantId}, 'sandbox', 'scheduled',
      ${new Date(now - hoursAgo * HOUR_MS)}, 'https://a.example', ${durationMs}, ${error})`;
  const figures = async (maxAttempts?: number) => {
    const { since, ...others } = await endpointFigures(service.sql, ownerOf(merchant), maxAttempts);
    return { hours: Math.round((now - since.getTime()) / HOUR_MS), ...others };
  };

  const none = { hours: 24, attempts: 0, delivered: 0, p95Ms: null, failingSince: null };
  expect(await figures()).toEqual(none);
  await attempt(30, 'answered 500', 9000);
  const failingSince = new Date(now - 30 * HOUR_MS);
  expect(await figures()).toEqual({ ...none, failingSince });
  await attempt(26, null, 9000);
  expect(await figures()).toEqual(none);
  for (let count = 1; count <= 100; count += 1) await attempt(20, null, count);
  expect(await figures()).toMatchObject({ attempts: 100, delivered: 100, p95Ms: 95 });
  await attempt(4, 'answered 500', 15_000);
  await attempt(3, 'answered 500', 15_000);
  expect(await figures()).toEqual({
    hours: 24,
    attempts: 102,
    delivered: 100,
    p95Ms: 97,
    failingSince: new Date(now - 4 * HOUR_MS),
  });
  const { since } = await endpointFigures(service.sql, ownerOf(merchant));
  expect(await attemptsByHour(service.sql, ownerOf(merchant), since)).toEqual([
    { hoursAgo: 20, accepted: 100, failed: 0 },
    { hoursAgo: 4, accepted: 0, failed: 1 },
    { hoursAgo: 3, accepted: 0, failed: 1 },
  ]);
  // With more attempts than one query reads, the figures are those of a shorter time.
  const shorter = { hours: 4, attempts: 1, delivered: 0, p95Ms: 15_000 };
  expect(await figures(1)).toMatchObject(shorter);
  const owner = { merchantId: merchant.merchantId, environment: 'production' as const };
  expect(await endpointFigures(service.sql, owner)).toMatchObject({ attempts: 0, p95Ms: null });
});
