import { expect } from 'vitest';
import { readDisputes } from '../../src/orders/steps/disputes.ts';
import { listDeliveries, showDelivery } from '../../src/webhooks/lists/delivery-list.ts';
import type { DirectOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', callbacks: false, merchant: { webhooks: true } });

const addSteps = ({ sql }: TestService, { orderNumber }: DirectOrder, count: number) => sql`
  INSERT INTO order_steps (order_number, step_number, merchant_id, kind, at, status, step)
  SELECT order_number, 100 + n, merchant_id, 'CLOCK_ADVANCED', now() + n * interval '1 second', status, '{}'
  FROM orders, generate_series(1, ${count}::integer) n WHERE order_number = ${orderNumber}`;

const earlierOf = (body: string) =>
  /href="([^"]*\?before=[^"]*)#timeline"/
    .exec(body)?.[1]
    ?.replace(/^.*?(?=\/(?:dashboard|operator)\/)/, '');

test('the pages of an order show the latest entries, and a link to those before them', async ({
  service,
  orders,
  owner,
  operators,
}) => {
  const order = await orders.in('DISPUTE_OPEN');
  await addSteps(service, order, 250);
  const { orderNumber } = order;
  const latest = await owner.get(`/dashboard/sandbox/orders/${orderNumber}`);
  expect(latest.body.match(/The clock was moved/g)).toHaveLength(50);
  expect(latest.body).not.toContain('<h3>Created</h3>');
  expect(latest.body).toContain('data-live');
  let page = latest;
  for (let to = earlierOf(page.body); to; to = earlierOf(page.body)) page = await owner.get(to);
  expect(page.body).toContain('Created</h3>');
  // The page of earlier entries does not follow what happens now.
  expect(page.body).not.toContain('data-live');

  for (const path of [`/operator/orders/${orderNumber}`, `/operator/disputes/${orderNumber}`]) {
    const { body } = await operators.finance.get(path);
    expect(body.match(/The clock was moved/g)).toHaveLength(200);
    const earlier = await operators.finance.get(earlierOf(body) ?? '');
    expect(earlier.body).toContain('Created</h3>');
  }
  const { status } = await owner.get(`/dashboard/sandbox/orders/${orderNumber}?before=x`);
  expect(status).toBe(200);
});

test('a delivery is shown with its newest 100 attempts, and an order with its latest 10 disputes', async ({
  service: { sql },
  orders,
}) => {
  const { orderNumber } = await orders.in('DISPUTE_OPEN');
  // Its own attempt comes before those that are written here.
  const newest = async () => (await listDeliveries(sql, { orderNumber }, 1))[0];
  await until(async () => (await newest())?.attempts.length);
  const { deliveryId = '' } = (await newest()) ?? {};
  await sql`
    INSERT INTO webhook_attempts (delivery_id, merchant_id, environment, at, kind, url, status_code, duration_ms)
    SELECT delivery_id, merchant_id, environment, now() + n * interval '1 second', 'manual', 'https://shop.example/' || n,
      200, 1 FROM webhook_deliveries, generate_series(1, 120) n WHERE delivery_id = ${deliveryId}`;
  const [listed] = await listDeliveries(sql, { deliveryId }, 1);
  const shown = await showDelivery(sql, deliveryId);
  for (const attempts of [listed?.attempts ?? [], shown.attempts]) {
    expect(attempts.map(({ url }) => url)).toEqual(
      Array.from({ length: 100 }, (_, index) => `https://shop.example/${index + 21}`),
    );
  }

  await sql`
    INSERT INTO disputes (order_number, number, merchant_id, environment, reason, raised_by, raised_at, ended_at)
    SELECT order_number, n, merchant_id, environment, 'Again', 'operator:ravi@ops.example', now(), now()
    FROM orders, generate_series(2, 30) n WHERE order_number = ${orderNumber}`;
  await sql`UPDATE orders SET dispute_count = 30 WHERE order_number = ${orderNumber}`;
  expect((await readDisputes(sql, orderNumber)).map(({ number }) => number)).toEqual([
    21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
  ]);
});
