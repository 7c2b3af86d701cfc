import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { open, post, textOf } from '../checkout/buyer.ts';
import { browserOf } from '../dashboard/browsing.ts';
import { dashboardTest } from '../dashboard/dashboard-test.ts';
import { anOrder, withKey } from '../support/api-client.ts';
import { anAccountId, giveAccount, loseAccounts } from '../support/linked-accounts.ts';
import type { TestService } from '../support/service.ts';
import { merchantUser } from '../support/users.ts';
import { expectRefusal, expectViolations } from './expectations.ts';

const REFUSED = 'Merchant account cannot take payments yet';

/** The file's merchant is approved and has no linked account. */
const test = dashboardTest({
  time: 'real',
  productionGateway: true,
  merchant: { webhooks: false },
});

/** A merchant that had an account, and its order with the key of its request. */
async function onceReady(service: TestService) {
  const merchant = await service.newMerchant({ webhooks: false, linkedAccountId: anAccountId() });
  const key = randomUUID();
  const order = await merchant.production.create({}, withKey(key));
  await loseAccounts(service, merchant);
  return { merchant, key, order };
}

describe('without a linked account, in production', () => {
  test('creating an order is 403, with any key and any body, until it has one', async ({
    service,
  }) => {
    const merchant = await service.newMerchant({ webhooks: false });
    const { production } = merchant;
    const key = withKey(randomUUID());
    expectRefusal(await production.post('/orders', anOrder()), 403, REFUSED);
    expectRefusal(await production.post('/orders', anOrder(), key), 403, REFUSED);
    expectRefusal(await production.post('/orders', { amount: 1 }), 403, REFUSED);
    const tooLong = withKey('x'.repeat(300));
    expectRefusal(await production.post('/orders', anOrder(), tooLong), 403, REFUSED);
    await giveAccount(service, merchant, anAccountId());
    const created = await production.post('/orders', anOrder(), key);
    expect([created.status, created.headers.get('Idempotent-Replayed')]).toEqual([201, null]);
  });

  test('a key that names an existing order is 201 with that order', async ({ service }) => {
    const { merchant, key, order } = await onceReady(service);
    const again = await merchant.production.post('/orders', anOrder(), withKey(key));
    expect([again.status, again.body.data]).toEqual([201, order]);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expectViolations(
      await merchant.production.post('/orders', anOrder({ amount: 1 }), withKey(key)),
      { amount: 'must be greater than or equal to 5.0' },
    );
    const other = await merchant.production.post('/orders', anOrder(), withKey(`${key}x`));
    expectRefusal(other, 403, REFUSED);
  });

  test('everything else works, and so does the sandbox', async ({ service }) => {
    const { merchant, order } = await onceReady(service);
    expect((await merchant.production.get('/orders')).status).toBe(200);
    expect((await merchant.production.command(order, 'cancel')).status).toBe(200);
    expect((await merchant.sandbox.post('/orders', anOrder())).status).toBe(201);
  });

  test('a suspended merchant reads that it is suspended', async ({ service, cli }) => {
    const merchant = await service.newMerchant({ webhooks: false });
    await cli.json('merchant', 'suspend', '--merchant', merchant.merchantId);
    const answer = await merchant.production.post('/orders', anOrder());
    expectRefusal(answer, 403, 'Merchant account is not active');
  });
});

test('the OpenAPI document has the refusal, for the creation of orders alone', async ({
  service,
}) => {
  const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { responses?: Record<string, unknown> }>>;
  };
  const refusing = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { responses }]) => JSON.stringify(responses?.['403'])?.includes(REFUSED))
      .map(([method]) => `${method} ${path}`),
  );
  expect(refusing).toEqual(['post /orders']);
});

test('the buyer’s page has no button to pay, and says why; the button comes with the account', async ({
  service,
}) => {
  const { merchant, order } = await onceReady(service);
  const page = await open(order.payment_url);
  expect([page.status, page.html.includes('<button')]).toEqual([200, false]);
  expect(textOf(page.html)).toContain('Asha Textiles cannot take payments now.');
  const pressed = await post(`${order.payment_url}/sessions`);
  expect([pressed.status, pressed.html.includes('<button')]).toEqual([403, false]);
  await giveAccount(service, merchant, anAccountId());
  expect((await open(order.payment_url)).html).toContain('Pay now');
});

test('the merchant reads that its account cannot take payments yet, and why', async ({
  service,
}) => {
  const merchant = await service.newMerchant({ webhooks: false });
  const browser = browserOf(service.origin, await merchantUser(service.sql, merchant.merchantId));
  const read = async (path: string) => textOf((await browser.get(path)).body);
  expect(await read('/dashboard/production')).toContain('Your account cannot take payments yet');
  expect(await read('/dashboard/sandbox')).not.toContain('cannot take payments');
  const application = await read('/dashboard/production/onboarding');
  expect(application).toContain('Approved, cannot take payments yet');
  expect(application).toContain('it has no linked account to be paid out to');
  await giveAccount(service, merchant, anAccountId());
  for (const path of ['', '/onboarding']) {
    expect(await read(`/dashboard/production${path}`)).not.toContain('cannot take payments');
  }
});

test('every operator sees it on the merchant’s page and in the list', async ({
  service,
  operators: { support },
}) => {
  const merchant = await service.newMerchant({ webhooks: false });
  const read = async (path: string) => textOf((await support.get(path)).body);
  const path = `/operator/merchants/${merchant.merchantId}`;
  const list = `/operator/merchants?q=${merchant.merchantId}`;
  expect(await read(path)).toContain('it has no linked account to be paid out to');
  expect(await read(list)).toContain('Approved, cannot take payments yet');
  await giveAccount(service, merchant, anAccountId());
  for (const place of [path, list]) {
    expect(await read(place)).not.toContain('cannot take payments');
  }
});

test('the command line warns', async ({ service, cli }) => {
  const merchant = await service.newMerchant({ webhooks: false });
  const of = ['--merchant', merchant.merchantId];
  await cli.json('merchant', 'suspend', ...of);
  const { warning } = await cli.alone.json<{ warning: string }>('merchant', 'activate', ...of);
  expect(warning).toContain(
    'production orders cannot be created, because it has no linked account to be paid out to',
  );
});
