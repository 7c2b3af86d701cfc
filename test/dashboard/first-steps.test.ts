import { expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import { createKeyPair } from '../../src/merchants/keys/keys.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { merchantUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';
import { writeMerchant, writePastOrders } from './past-orders.ts';

const test = dashboardTest({ time: 'real', worker: false, merchant: { webhooks: false } });

const PEPPER = 'a pepper of at least 32 characters';

/** The titles of the steps on a home page that are done; undefined when the page has no steps. */
function doneOn(body: string): string[] | undefined {
  if (!body.includes('aria-label="First steps"')) return undefined;
  const done = body.matchAll(/<li class="done"><a [^>]*>([^<]+)<\/a>/g);
  return [...done].map(([, title = '']) => title);
}

/** Each step as the merchant does it, and its title. */
const STEPS: readonly [string, (sql: Sql, merchantId: string) => Promise<unknown>][] = [
  [
    'Have your business approved',
    (sql, id) => sql`UPDATE merchants SET status = 'APPROVED' WHERE merchant_id = ${id}`,
  ],
  [
    'Generate an API key',
    (sql, id) => createKeyPair({ sql, pepper: PEPPER, actor: TEST_ACTOR }, id, 'sandbox'),
  ],
  [
    'Set a webhook URL',
    (sql, id) => sql`
      INSERT INTO merchant_environments (merchant_id, environment, webhook_url)
      VALUES (${id}, 'sandbox', 'https://shop.example/hooks')`,
  ],
  ['Create an order', (sql, id) => writePastOrders(sql, id, [{ createdAt: new Date() }])],
  [
    'Accept a webhook',
    (sql, id) => sql`
      WITH event AS (
        INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
        SELECT 'evt_1', order_number, 1, 1, 'ORDER_CREATED', now(), '{}' FROM orders
        WHERE merchant_id = ${id} RETURNING event_id
      ), delivery AS (
        INSERT INTO webhook_deliveries (delivery_id, event_id, merchant_id, environment, event_type)
        SELECT 'dlv_1', event_id, ${id}, 'sandbox', 'ORDER_CREATED' FROM event
        RETURNING delivery_id
      )
      INSERT INTO webhook_attempts
        (delivery_id, merchant_id, environment, kind, at, url, status_code, duration_ms)
      SELECT delivery_id, ${id}, 'sandbox', 'scheduled', now(), 'https://shop.example/hooks', 200, 1
      FROM delivery`,
  ],
];

test('each first step is ticked once it is done, and with the last one they disappear', async ({
  service,
}) => {
  const { sql } = service;
  const merchantId = await writeMerchant(sql);
  await sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
  const owner = browserOf(service.origin, await merchantUser(sql, merchantId));
  const home = async (environment: string) =>
    doneOn((await owner.get(`/dashboard/${environment}`)).body);
  const done: string[] = [];
  for (const [title, doIt] of STEPS) {
    expect(await home('sandbox')).toEqual(done);
    await doIt(sql, merchantId);
    done.push(title);
  }
  expect(await home('sandbox')).toBeUndefined();
  // In the other environment, only the approval is done.
  expect(await home('production')).toEqual(done.slice(0, 1));
});

test('who reads events from the API needs no webhook URL', async ({ merchant, owner }) => {
  await merchant.sandbox.create();
  await merchant.sandbox.get('/events');
  expect(doneOn((await owner.get('/dashboard/sandbox')).body)).toBeUndefined();
});
