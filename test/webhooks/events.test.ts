import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { cursorOf } from '../../src/http/input/cursor.ts';
import type { WebhookEvent } from '../../src/orders/routes/webhook-events.ts';
import { removeWebhookUrl, saveWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { ApiClient } from '../support/api-client.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createUrlCheck } from '../../src/main/compose/webhook-rules.ts';

interface EventPage {
  content: WebhookEvent[];
  next: string;
}

interface EventDetails {
  event: WebhookEvent;
  delivery: {
    state: string;
    next_attempt_at: string | null;
    attempts: { kind: string; status_code: number | null }[];
  } | null;
}

const EXPIRED = 'Start again with createdFrom';

const test = serviceTest({ time: 'real' });

async function list(client: ApiClient, query: Record<string, string | number> = {}) {
  const search = new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]));
  const answer = await client.call<EventPage>('GET', `/events?${search}`);
  expect([answer.status, answer.body.message]).toEqual([200, 'Events']);
  return answer.body.data;
}

/** A client that continues where it was: every call returns the ids of the events that are new to it. */
function follow(client: ApiClient, query: Record<string, string | number> = {}) {
  let after: string | undefined;
  return async () => {
    const ids: string[] = [];
    for (;;) {
      const page = await list(client, { ...query, ...(after !== undefined && { after }) });
      ids.push(...page.content.map(({ event_id }) => event_id));
      if (page.next === after) return ids;
      after = page.next;
    }
  };
}

/** Writes an order's row with its first event, without a workflow. */
async function writeEvents(service: TestService, merchantId: string, count: number) {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { orderNumber } = await writeOrder(service, { merchantId });
    const [row] = await service.sql<{ eventId: string }[]>`
      SELECT event_id FROM order_events WHERE order_number = ${orderNumber}`;
    ids.push(row?.eventId ?? '');
  }
  return ids;
}

/** Adds events to the order of an event; their ids have the time of that one. */
const addEvents = (
  { sql }: Pick<TestService, 'sql'>,
  eventId: string,
  { count, type = 'DELIVERY_CONFIRMED' }: { count: number; type?: string },
) => sql<{ eventId: string }[]>`
  INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
  SELECT id, order_number, next.sequence, next.sequence, ${type}, at,
    (body::jsonb || jsonb_build_object('event_id', id, 'sequence', next.sequence,
      'event', ${type}::text))::text
  FROM (SELECT *, (SELECT max(sequence) FROM order_events last
      WHERE last.order_number = e.order_number) AS latest FROM order_events e
      WHERE event_id = ${eventId}) AS e,
    generate_series(latest + 1, latest + ${count}) AS next (sequence),
    LATERAL (SELECT left(event_id, 20) || lpad(next.sequence::text, 10, '0') AS id) AS named
  RETURNING event_id`;

describe('a client that follows the events', () => {
  test('gets what webhooks have, sent or not, oldest first, and nothing twice', async ({
    service,
  }) => {
    const merchant = await service.newMerchant();
    const more = follow(merchant.sandbox, { size: 2 });
    expect(await more()).toEqual([]);
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    await merchant.sandbox.post(`/orders/${order.order_number}/deliver`);
    const received = await merchant.receiver.until(3);
    const { content } = await list(merchant.sandbox);
    expect(content.map(({ event }) => event)).toEqual([
      'ORDER_CREATED',
      'PAYMENT_SUCCESS',
      'DELIVERY_CONFIRMED',
    ]);
    for (const { body, rawBody } of received) {
      const listed = content.find(({ event_id }) => event_id === body.event_id);
      expect(JSON.stringify(listed)).toBe(rawBody);
    }
    expect(await more()).toEqual(content.map(({ event_id }) => event_id));
    expect(await more()).toEqual([]);
    expect((await list(merchant.production)).content).toEqual([]);
    const other = await service.newMerchant({ webhooks: false });
    expect((await list(other.sandbox, { orderNumber: order.order_number })).content).toEqual([]);
    const [unsent] = await writeEvents(service, other.merchantId, 1);
    expect((await list(other.sandbox)).content.map(({ event_id }) => event_id)).toEqual([unsent]);
  });

  test('misses nothing of a transaction that was held open between two others', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
    const [first = ''] = await writeEvents(service, merchantId, 1);
    const more = follow(sandbox);
    expect(await more()).toEqual([first]);
    const held = await service.sql.reserve();
    await held`BEGIN`;
    const [open] = await addEvents({ sql: held }, first, { count: 1 });
    const [later = ''] = await writeEvents(service, merchantId, 1);
    expect(await more()).toEqual([later]);
    expect(await more()).toEqual([]);
    await held`COMMIT`;
    held.release();
    expect(await more()).toEqual([open?.eventId]);
    const all = [first, later, open?.eventId];
    expect(await follow(sandbox, { size: 1 })()).toEqual(all);
  });

  test('waits for another that numbers events, and both get the same order', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
    const written = await writeEvents(service, merchantId, 3);
    const held = await service.sql.reserve();
    await held`BEGIN`;
    await held`SELECT number_events(${merchantId}, 'sandbox', 2)`;
    const waiting = list(sandbox);
    await until(async () => {
      const blocked = await service.sql`
        SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%number_events%'`;
      return blocked.length > 0;
    });
    await held`COMMIT`;
    held.release();
    expect((await waiting).content.map(({ event_id }) => event_id)).toEqual(written);
  });

  test('gets each event once, in the order of each order, while many are written at a time', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
    const more = follow(sandbox, { size: 7 });
    const seen: string[] = [];
    const writing = Promise.all(
      Array.from({ length: 6 }, async () => {
        const [first = ''] = await writeEvents(service, merchantId, 1);
        const ids = [first];
        for (let index = 0; index < 10; index += 1) {
          const added = await addEvents(service, first, { count: 1 });
          ids.push(added[0]?.eventId ?? '');
        }
        return ids;
      }),
    );
    let isWritten = false;
    void writing.then(() => (isWritten = true));
    while (!isWritten) seen.push(...(await more()));
    seen.push(...(await more()));
    for (const ids of await writing) {
      expect(seen.filter((id) => ids.includes(id))).toEqual(ids);
    }
    expect(seen).toHaveLength(66);
    expect(await follow(sandbox)()).toEqual(seen);
  });
});

describe('a cursor', () => {
  test('whose event is another one, is not numbered yet or is too old is refused with its code', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
    const [first = '', second = ''] = await writeEvents(service, merchantId, 2);
    await list(sandbox);
    const refusalOf = async (after: string) => {
      const { status, headers, body } = await sandbox.get(`/events?after=${after}`);
      return [status, headers.get('X-Error-Code'), body.message];
    };
    const expired = [400, 'CURSOR_EXPIRED', EXPIRED];
    expect(await refusalOf(cursorOf([2, first]))).toEqual(expired);
    expect(await refusalOf(cursorOf([3, second]))).toEqual(expired);
    expect(await refusalOf(cursorOf([2 ** 40, second]))).toEqual(expired);
    const age = (eventId: string, days: number) => service.sql`
      WITH aged AS (
        UPDATE order_events SET at = service_now() - ${days} * interval '1 day'
        WHERE event_id = ${eventId} RETURNING event_id, at)
      UPDATE event_numbers n SET numbered_at = aged.at FROM aged WHERE n.event_id = aged.event_id`;
    await age(first, 89);
    const [before, at] = [cursorOf([0, '']), cursorOf([1, first])];
    expect((await list(sandbox, { after: before })).content).toHaveLength(2);
    await age(first, 91);
    expect(await refusalOf(before)).toEqual(expired);
    expect(await refusalOf(at)).toEqual(expired);
    const { content, next } = await list(sandbox);
    expect(content.map(({ event_id }) => event_id)).toEqual([second]);
    expect(next).toBe(cursorOf([2, second]));
  });

  test.for(['x', cursorOf(['1', 'evt_']), cursorOf([1, '\0']), cursorOf([-1, ''])])(
    'that is none is invalid input: %s',
    async (after, { merchant }) => {
      const { status, body } = await merchant.sandbox.get(`/events?after=${after}`);
      expect([status, body.validationErrors]).toEqual([
        400,
        { after: 'must be the `next` of an earlier response' },
      ]);
    },
  );

  test('before the first event stays valid until there is one', async ({ service }) => {
    const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
    const { content, next } = await list(sandbox);
    expect([content, next]).toEqual([[], cursorOf([0, ''])]);
    expect(await list(sandbox, { after: next })).toEqual({ content, next });
    const written = await writeEvents(service, merchantId, 1);
    const page = await list(sandbox, { after: next });
    expect(page.content.map(({ event_id }) => event_id)).toEqual(written);
  });
});

describe('filters', () => {
  test('by type, order and time select, and the cursor goes on behind them', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
    const [first = '', second = ''] = await writeEvents(service, merchantId, 2);
    const delivered = await addEvents(service, first, { count: 3 });
    const idsOf = async (query: Record<string, string | number>) => follow(sandbox, query)();
    expect(await idsOf({ type: 'ORDER_CREATED' })).toEqual([first, second]);
    expect(await idsOf({ type: 'DELIVERY_CONFIRMED', size: 2 })).toEqual(
      delivered.map(({ eventId }) => eventId),
    );
    expect(await idsOf({ type: 'REFUND_PROCESSED' })).toEqual([]);
    const { content } = await list(sandbox);
    const orderNumber = content[1]?.data.order_number ?? '';
    expect(await idsOf({ orderNumber })).toEqual([second]);
    const day = 24 * 3600 * 1000;
    await service.sql`
      UPDATE order_events SET at = at - interval '1 day' WHERE event_id = ${first}`;
    const createdFrom = new Date(Date.now() - day / 2).toISOString();
    expect(await idsOf({ createdFrom, type: 'ORDER_CREATED' })).toEqual([second]);
    const none = await list(sandbox, { createdFrom: new Date(Date.now() + day).toISOString() });
    expect(none.content).toEqual([]);
    expect((await list(sandbox, { after: none.next })).content).toEqual([]);
  });

  test('a first request with many events that have no number goes on until the last', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
    const [first = ''] = await writeEvents(service, merchantId, 1);
    // In parts: a slow machine takes longer for all of them than one statement may take.
    for (let part = 1; part <= 41; part += 1) await addEvents(service, first, { count: 500 });
    const [last] = await addEvents(service, first, { count: 1, type: 'ORDER_CANCELLED' });
    expect(await follow(sandbox, { type: 'ORDER_CANCELLED' })()).toEqual([last?.eventId]);
    const createdFrom = new Date(Date.now() - 3_600_000).toISOString();
    expect(await follow(sandbox, { type: 'ORDER_CANCELLED', createdFrom })()).toEqual([
      last?.eventId,
    ]);
    // Those that happened too long ago are left out, and a page that has only those does not end the list.
    await service.sql`
      UPDATE order_events e SET at = at - interval '91 days' FROM event_numbers n
      WHERE n.event_id = e.event_id AND n.merchant_id = ${merchantId} AND n.number <= 20000`;
    expect((await follow(sandbox, { size: 100 })()).at(-1)).toBe(last?.eventId);
    expect(await follow(sandbox, { type: 'ORDER_CREATED' })()).toEqual([]);
  });

  test('events that happened before createdFrom are skipped by their numbers', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
    const ids = await writeEvents(service, merchantId, 9);
    await list(sandbox);
    // Numbered one a day: the newest today.
    await service.sql`
      UPDATE event_numbers SET numbered_at = service_now() - (9 - number) * interval '1 day'
      WHERE merchant_id = ${merchantId}`;
    await service.sql`
      UPDATE order_events e SET at = n.numbered_at FROM event_numbers n
      WHERE n.event_id = e.event_id AND n.merchant_id = ${merchantId}`;
    for (const days of [0.5, 3.5, 7.5, 30]) {
      const from = new Date(Date.now() - days * 24 * 3600 * 1000);
      const found = await follow(sandbox, { createdFrom: from.toISOString() })();
      expect(found).toEqual(ids.slice(Math.max(0, 9 - Math.ceil(days))));
      const [row] = await service.sql<{ before: number }[]>`
        SELECT number_before(${merchantId}, 'sandbox', ${from}) AS before`;
      expect(row?.before).toBe(Math.max(0, 9 - Math.ceil(days)));
    }
  });
});

test('the events of an erased order are left out, and their numbers stay', async ({ service }) => {
  const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
  const [first = '', second = '', third = ''] = await writeEvents(service, merchantId, 3);
  const { next } = await list(sandbox, { size: 2 });
  // As erase_order does.
  await service.sql`UPDATE order_events SET body = '' WHERE event_id = ${second}`;
  expect(await follow(sandbox)()).toEqual([first, third]);
  expect((await list(sandbox, { after: next })).content.map(({ event_id }) => event_id)).toEqual([
    third,
  ]);
  expect((await sandbox.get(`/events/${second}`)).status).toBe(404);
});

describe('one event', () => {
  const get = async (client: ApiClient, id: string) =>
    (await client.call<EventDetails>('GET', `/events/${id}`)).body.data;
  const resend = (client: ApiClient, id: string) =>
    client.call<EventDetails>('POST', `/events/${id}/resend`);

  test('has the state of its delivery and its attempts, and can be sent again', async ({
    service,
  }) => {
    const merchant = await service.newMerchant();
    await merchant.sandbox.create();
    const [first] = await merchant.receiver.until(1);
    const id = first?.body.event_id ?? '';
    await until(async () => (await get(merchant.sandbox, id)).delivery?.state === 'DELIVERED');
    const answer = await resend(merchant.sandbox, id);
    expect([answer.status, answer.body.data.event]).toEqual([202, first?.body]);
    const [, second] = await merchant.receiver.until(2);
    expect(second?.rawBody).toBe(first?.rawBody);
    const details = await until(async () => {
      const found = await get(merchant.sandbox, id);
      return (found.delivery?.attempts.length ?? 0) > 1 && found;
    });
    expect(details).toMatchObject({
      event: first?.body,
      delivery: {
        state: 'DELIVERED',
        next_attempt_at: null,
        attempts: [
          { kind: 'scheduled', status_code: 200, url: merchant.receiver.url, error: null },
          { kind: 'manual', status_code: 200 },
        ],
      },
    });
  });

  test('that was never sent is sent once there is a URL', async ({ service }) => {
    const merchant = await service.newMerchant({ webhooks: false });
    const [id = ''] = await writeEvents(service, merchant.merchantId, 1);
    expect(await get(merchant.sandbox, id)).toMatchObject({ delivery: null });
    const refused = await resend(merchant.sandbox, id);
    expect([refused.status, refused.headers.get('X-Error-Code'), refused.body.message]).toEqual([
      400,
      'INVALID_STATE',
      'No webhook URL is configured: set one, then retry',
    ]);
    const admin = { ...service.deps, actor: TEST_ACTOR, checkUrl: createUrlCheck(service.config) };
    await saveWebhookUrl(admin, merchant.merchantId, 'sandbox', merchant.receiver.url);
    expect((await resend(merchant.sandbox, id)).status).toBe(202);
    const [received] = await merchant.receiver.until(1);
    expect(received?.body.event_id).toBe(id);
    await until(async () => (await get(merchant.sandbox, id)).delivery?.state === 'DELIVERED');
    await removeWebhookUrl(admin, merchant.merchantId, 'sandbox');
    expect((await resend(merchant.sandbox, id)).status).toBe(400);
  });

  test('cannot be sent while an attempt of it runs', async ({ service }) => {
    const merchant = await service.newMerchant();
    const { promise, resolve } = Promise.withResolvers<number>();
    merchant.receiver.answerWith(() => promise);
    await merchant.sandbox.create();
    const [first] = await merchant.receiver.until(1);
    const { status, body } = await resend(merchant.sandbox, first?.body.event_id ?? '');
    expect([status, body.message]).toEqual([400, expect.stringMatching(/ is under way$/)]);
    resolve(200);
  });

  test('of another merchant or environment is not found', async ({ service, merchant }) => {
    const other = await service.newMerchant({ webhooks: false });
    const [id = ''] = await writeEvents(service, other.merchantId, 1);
    for (const client of [merchant.sandbox, other.production]) {
      for (const method of ['GET', 'POST'] as const) {
        const path = method === 'GET' ? `/events/${id}` : `/events/${id}/resend`;
        const { status, body } = await client.call(method, path);
        expect([status, body.message]).toEqual([404, `Event not found: ${id}`]);
      }
    }
    expect((await merchant.sandbox.get(`/events/${randomUUID()}`)).status).toBe(404);
  });
});
