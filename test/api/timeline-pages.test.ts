import { expect } from 'vitest';
import type { Timeline } from '../../src/orders/public.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

test('the timeline has the latest 200 entries, and `before` reads those before them, each once', async ({
  service: { sql },
  merchant: { sandbox },
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  const { orderNumber } = order;
  // Steps, and refunds at the gateway between them, of which many have the same time.
  await sql`
    INSERT INTO order_steps (order_number, step_number, merchant_id, kind, at, status, step)
    SELECT order_number, 100 + n, merchant_id, 'CLOCK_ADVANCED', now() + n * interval '2 seconds',
      status, '{}' FROM orders, generate_series(1, 330) n WHERE order_number = ${orderNumber}`;
  await sql`
    INSERT INTO gateway_reversals (gateway, reversal_id, gateway_payment_id, order_number, kind, amount_paise,
      state, recorded_at, ended_at)
    SELECT gateway, 'rfnd_' || n, gateway_payment_id, order_number, 'refund', 1, 'processed', now(),
      now() + (n / 120) * interval '3 seconds'
    FROM orders, generate_series(1, 250) n WHERE order_number = ${orderNumber}`;

  const read = async (before?: string) => {
    const query = before === undefined ? '' : `?before=${before}`;
    return (await sandbox.get<Timeline>(`/orders/${orderNumber}/timeline${query}`)).body.data;
  };
  const pages = [await read()];
  for (let earlier = pages[0]?.earlier; earlier; earlier = pages[0]?.earlier) {
    pages.unshift(await read(earlier));
  }
  expect(pages.map(({ entries }) => entries.length)).toEqual([183, 200, 200]);
  const all = pages.flatMap(({ entries }) => entries);
  expect(all.slice(0, 3).map(({ kind }) => kind)).toEqual([
    'ORDER_CREATED',
    'PAYMENT_SUCCESS',
    'DELIVERY_CONFIRMED',
  ]);
  const times = all.map(({ at }) => at);
  expect(times).toEqual(times.toSorted());
  const reversals = all.flatMap(({ details }) => details?.['gateway_id'] ?? []);
  expect(new Set(reversals).size).toBe(250);
  expect(all.filter(({ kind }) => kind === 'CLOCK_ADVANCED')).toHaveLength(330);
});

test('a `before` that no response has given is a validation error', async ({
  merchant: { sandbox },
}) => {
  const { order_number } = await sandbox.create();
  for (const before of ['1', 'WzEsMl0', '']) {
    const { status, body } = await sandbox.get(`/orders/${order_number}/timeline?before=${before}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      validationErrors: { before: 'must be the `earlier` of a response' },
    });
  }
});
