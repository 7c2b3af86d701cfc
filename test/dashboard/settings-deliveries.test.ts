import { describe, expect } from 'vitest';
import { attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import type { Merchant } from '../support/merchant.ts';
import { writeOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { merchantUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real' });

const LIST = '/dashboard/sandbox/deliveries';

/** A new merchant with deliveries that have had no attempt, and the browser of its user. */
async function newShop(service: TestService, count: number) {
  const merchant = await service.newMerchant();
  for (let index = 0; index < count; index += 1) await writeOrder(service, merchant);
  const owner = browserOf(service.origin, await merchantUser(service.sql, merchant.merchantId));
  return { merchant, owner, deliveries: await deliveriesOf(service, merchant) };
}

const deliveriesOf = ({ sql }: TestService, { merchantId }: Merchant) =>
  sql<{ deliveryId: string; orderNumber: string; state: string }[]>`
    SELECT delivery_id, order_number, state
    FROM webhook_deliveries JOIN order_events USING (event_id)
    WHERE merchant_id = ${merchantId} ORDER BY delivery_id DESC`;

const shownIn = (body: string) =>
  [...body.matchAll(/value="(dlv_\w+)"/g)].map(([, deliveryId]) => deliveryId);

const untilDelivered = (service: TestService, merchant: Merchant) =>
  until(async () =>
    (await deliveriesOf(service, merchant)).every(({ state }) => state === 'DELIVERED'),
  );

describe('the list of deliveries', () => {
  test('has 25 on a page, newest first, and links to the other pages', async ({ service }) => {
    const { owner, deliveries } = await newShop(service, 27);
    const first = await owner.get(LIST);
    const ids = deliveries.map(({ deliveryId }) => deliveryId);
    expect(shownIn(first.body)).toEqual(ids.slice(0, 25));
    expect(Buffer.byteLength(first.body)).toBeLessThan(50_000);
    const [, older = ''] = /href="([^"]+)"[^>]*rel="next"/.exec(first.body) ?? [];
    const second = await owner.get(older.replaceAll('&amp;', '&'));
    expect(shownIn(second.body)).toEqual(ids.slice(25));
    expect(second.body).toContain('26–27 of 27');
    expect(second.body).toContain('rel="prev"');
  });

  test('is filtered by state, event, order and time of India', async ({ service }) => {
    const { owner, deliveries } = await newShop(service, 3);
    const [newest, middle] = deliveries;
    await attemptScheduled(service.deps, middle?.deliveryId ?? '');
    const shown = async (query: string) => shownIn((await owner.get(`${LIST}?${query}`)).body);
    expect(await shown('state=DELIVERED')).toEqual([middle?.deliveryId]);
    expect(await shown('state=PENDING&event=ORDER_CREATED')).toHaveLength(2);
    expect(await shown('event=ORDER_CANCELLED')).toEqual([]);
    expect(await shown(`order=${newest?.orderNumber}`)).toEqual([newest?.deliveryId]);
    const inIndia = (ms: number) => new Date(ms + 5.5 * 3_600_000).toISOString().slice(0, 16);
    expect(await shown(`since=${inIndia(Date.now() - 3_600_000)}`)).toHaveLength(3);
    expect(await shown(`until=${inIndia(Date.now() - 3_600_000)}`)).toEqual([]);
    const delivered = await owner.get(`${LIST}?state=DELIVERED&event=ORDER_CREATED`);
    expect(delivered.body).toMatch(/<a [^>]*aria-current="page"[^>]*>Accepted</);
    expect(delivered.body).toMatch(/state=FAILED&amp;event=ORDER_CREATED"[^>]*>Failed</);
    const refused = await owner.get(`${LIST}?since=yesterday`);
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('must be a date and a time');
  });
});

test('the list of webhooks and the settings of the endpoint are two tabs of one page', async ({
  owner,
}) => {
  for (const [path, current, other] of [
    ['deliveries', 'Sent webhooks', '/dashboard/sandbox/webhooks'],
    ['webhooks', 'Endpoint', '/dashboard/sandbox/deliveries'],
  ] as const) {
    const { body } = await owner.get(`/dashboard/sandbox/${path}`);
    const tabs = /<nav class="tabs"[\s\S]*?<\/nav>/.exec(body)?.[0];
    expect(tabs).toMatch(new RegExp(`<a [^>]*aria-current="page"[^>]*>${current}<`));
    expect(tabs).toContain(`href="${other}"`);
  }
});

describe('many deliveries', () => {
  test('that are selected are sent again', async ({ service }) => {
    const { merchant, owner, deliveries } = await newShop(service, 3);
    const selected = deliveries.slice(0, 2).map(({ deliveryId }) => deliveryId);
    const sent = await owner.post(`${LIST}/resend`, { 'deliveries[]': selected });
    expect(sent).toMatchObject({ status: 303, location: `${LIST}?done=resent&count=2` });
    await merchant.receiver.until(2);
    const finished = await until(async () => {
      const { body } = await owner.get(LIST);
      return body.includes('Sent again:') && body;
    });
    expect(finished).toContain('Sent again: 2 accepted, 0 refused.');
    const states = (await deliveriesOf(service, merchant)).map(({ state }) => state);
    expect(states).toEqual(['DELIVERED', 'DELIVERED', 'PENDING']);
  });

  test('that have not arrived since a time are sent again, while the page says how many are left', async ({
    service,
  }) => {
    const { merchant, owner } = await newShop(service, 6);
    const { promise: answer, resolve: answerNow } = Promise.withResolvers<number>();
    merchant.receiver.answerWith(() => answer);
    const since = { 'resend-since': '2026-01-01T00:00' };
    const sent = await owner.post(`${LIST}/resend-since`, since);
    expect(sent.location).toBe(`${LIST}?done=resent&count=6`);
    await merchant.receiver.until(4);
    const { body } = await owner.get(LIST);
    expect(body).toContain('6 webhooks are being sent again');
    expect(body).toContain(`data-live="${LIST}/version"`);
    expect((await owner.get(`${LIST}/version`)).body).toBe('{"version":"6"}');
    const refused = await owner.post(`${LIST}/resend-since`, since);
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('Webhooks are being sent again already');
    expect(refused.body).toContain('value="2026-01-01T00:00"');
    answerNow(200);
    await untilDelivered(service, merchant);
    expect(await owner.post(`${LIST}/resend-since`, since)).toMatchObject({
      location: `${LIST}?done=resent&count=0`,
    });
    expect((await owner.get(`${LIST}?done=resent&count=0`)).body).toContain(
      'Nothing is sent again',
    );
  });

  test('need a selection, a time, and a merchant who owns them', async ({ service }) => {
    const { owner } = await newShop(service, 1);
    const other = await newShop(service, 1);
    const nothing = await owner.post(`${LIST}/resend`);
    expect(nothing.status).toBe(400);
    expect(nothing.body).toContain('Choose at least one webhook');
    const noTime = await owner.post(`${LIST}/resend-since`, { 'resend-since': 'yesterday' });
    expect(noTime.status).toBe(400);
    const foreign = other.deliveries.map(({ deliveryId }) => deliveryId);
    const refused = await owner.post(`${LIST}/resend`, { 'deliveries[]': foreign });
    expect(refused.status).toBe(404);
    expect(other.merchant.receiver.received).toEqual([]);
  });
});

describe('one delivery', () => {
  test('shows each attempt with its signed request and the answer, and is sent again', async ({
    service,
  }) => {
    const { merchant, owner, deliveries } = await newShop(service, 1);
    const [{ deliveryId } = { deliveryId: '' }] = deliveries;
    const page = `${LIST}/${deliveryId}`;
    expect((await owner.get(page)).body).toContain('There was no attempt yet');
    merchant.receiver.answerWith(() => 503);
    await attemptScheduled(service.deps, deliveryId);
    merchant.receiver.answerWith(() => 200);
    const sent = await owner.post(`${page}/resend`);
    // `started` if the attempt takes longer than the page waits.
    expect([`${page}?done=delivered`, `${page}?done=started`]).toContain(sent.location);
    await untilDelivered(service, merchant);
    const { body } = await owner.get(`${page}?done=delivered`);
    expect(body).toContain('It was sent again, and your server has accepted it');
    expect(Buffer.byteLength(body)).toBeLessThan(50_000);
    const [first, second] = merchant.receiver.received;
    expect(body).toContain(String(second?.headers['x-service-signature']));
    expect(body).toContain(second?.rawBody.replaceAll('"', '&quot;'));
    const links = [...body.matchAll(/href="([^"]*attempt=\d+)"/g)].map(([, href]) => href ?? '');
    expect(links).toHaveLength(2);
    const earlier = await owner.get(links[1]?.replaceAll('&amp;', '&') ?? '');
    expect(earlier.body).toContain(String(first?.headers['x-service-signature']));
    expect(earlier.body).toContain('Answered 503');
    expect(earlier.body).not.toContain(merchant.webhookSecret);
  });

  test('is not sent again while an attempt runs', async ({ service }) => {
    const { merchant, owner, deliveries } = await newShop(service, 1);
    const [{ deliveryId } = { deliveryId: '' }] = deliveries;
    const { promise: answer, resolve: answerNow } = Promise.withResolvers<number>();
    merchant.receiver.answerWith(() => answer);
    const scheduled = attemptScheduled(service.deps, deliveryId);
    await merchant.receiver.until(1);
    const refused = await owner.post(`${LIST}/${deliveryId}/resend`);
    expect(refused.status).toBe(400);
    expect(refused.body).toContain(`An attempt of ${deliveryId} is under way`);
    expect(refused.body).toContain('Running now');
    answerNow(200);
    await scheduled;
  });
});

test('the list of webhooks warns of those that have one attempt left, and every page marks the way there', async ({
  service,
}) => {
  const { merchant, owner } = await newShop(service, 2);
  expect((await owner.get(LIST)).body).not.toContain('one attempt left');
  await service.sql`
    UPDATE webhook_deliveries SET failed_attempts = 4, state = 'PENDING',
      next_attempt_at = '2026-11-23T06:30:00Z'
    WHERE merchant_id = ${merchant.merchantId}`;
  const { body } = await owner.get(LIST);
  expect(body).toContain('2 webhooks have one attempt left');
  expect(body).toContain('datetime="2026-11-23T06:30:00.000Z"');
  const mark = 'Webhooks<span class="hidden"> need attention';
  expect((await owner.get('/dashboard/sandbox/keys')).body).toContain(mark);
  expect((await owner.get('/dashboard/production/keys')).body).not.toContain(mark);
  expect((await owner.get('/dashboard/production/deliveries')).body).not.toContain('attempt left');
});
