import { describe, expect } from 'vitest';
import { mailsTo } from '../support/mails.ts';
import { ordersOf } from '../support/orders.ts';
import { proposalOf } from '../support/proposals.ts';
import type { TestService } from '../support/service.ts';
import { PASSWORD, merchantUser, operatorUser, signIn } from '../support/users.ts';
import type { FormFields } from './browsing.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';
import { visitorOf } from './visitor.ts';

const test = dashboardTest({ time: 'real' }).extend(
  'later',
  { scope: 'file' },
  async ({ service, merchant }) => {
    await service.sql`DELETE FROM account_attempts`;
    const { userId } = await merchantUser(service.sql, merchant.merchantId);
    // The browser of a session whose user gave the password more than ten minutes ago.
    return async () => {
      const cookie = await signIn(service.sql, userId, { isConfirmed: false });
      return visitorOf(service.origin, { cookie });
    };
  },
);

const PRODUCTION = '/dashboard/production';
const asked = (next: string) => `/dashboard/confirm?${new URLSearchParams({ next }).toString()}`;

describe("a merchant's user is asked again for the password", () => {
  test.for<[act: string, path: string, formPath: string, fields: FormFields]>([
    ['generates a production key', '/keys/generate', '/keys', {}],
    ['replaces the secret of one', '/keys/rotate', '/keys/rotate', {}],
    [
      'saves the production webhook URL',
      '/webhooks',
      '/webhooks',
      { url: 'https://1.1.1.1/hooks' },
    ],
    ['removes it', '/webhooks/remove', '/webhooks/remove', {}],
  ])('who %s', async ([, path, formPath, fields], { service, later, merchant }) => {
    const stateOf = () => service.sql`
      SELECT secret_hmac, webhook_url FROM api_keys JOIN merchant_environments USING (merchant_id, environment)
      WHERE merchant_id = ${merchant.merchantId} AND environment = 'production'`;
    const before = await stateOf();
    const browser = await later();
    const sent = await browser.post(PRODUCTION + path, fields);
    expect(sent).toMatchObject({ status: 303, location: asked(PRODUCTION + formPath) });
    expect(await stateOf()).toEqual(before);

    const page = await browser.get(sent.location!);
    expect(page.status).toBe(200);
    expect(page.body).toContain('name="password"');
    expect(page.body).not.toContain('name="code"');
    const next = PRODUCTION + formPath;
    const wrong = await browser.post('/dashboard/confirm', { password: 'wrong', next });
    expect(wrong.status).toBe(400);
    expect(wrong.body).toContain('This is not your password');
    expect(wrong.body).toContain(`value="${next}"`);
    const confirmed = await browser.post('/dashboard/confirm', { password: PASSWORD, next });
    expect(confirmed).toMatchObject({ status: 303, location: next });
    const done = await browser.post(PRODUCTION + path, fields);
    expect(done.location ?? '').not.toContain('/dashboard/confirm');
  });

  test('but not in the sandbox, nor for the question of a page that is only read', async ({
    later,
  }) => {
    const browser = await later();
    expect((await browser.post('/dashboard/sandbox/keys/rotate')).status).toBe(200);
    expect((await browser.get(`${PRODUCTION}/webhooks`)).status).toBe(200);
    expect((await browser.get(`${PRODUCTION}/keys`)).status).toBe(200);
  });

  test.for(['refundOrder', 'acceptDispute'])(
    'who returns more than ₹5,000 by %s',
    async (action, { service, merchant, later }) => {
      const orders = ordersOf(service, merchant);
      const status = action === 'refundOrder' ? 'PAID' : 'DISPUTE_OPEN';
      const { orderNumber } = await orders.in(status);
      const browser = await later();
      const path = `/dashboard/sandbox/orders/${orderNumber}`;
      const fields = {
        reason: 'Sold out',
        idempotencyKey: `again-${action}`,
        confirmed: 'yes',
      };
      const commands = () => service.sql`
        SELECT name FROM order_commands
        WHERE order_number = ${orderNumber} AND name IN ('refund', 'accept')`;
      await service.sql`
        UPDATE orders SET amount_paise = 500001 WHERE order_number = ${orderNumber}`;
      const large = await browser.post(`${path}/${action}`, fields);
      expect(large).toMatchObject({ status: 303, location: asked(path) });
      expect(await commands()).toEqual([]);
      await service.sql`
        UPDATE orders SET amount_paise = 500000 WHERE order_number = ${orderNumber}`;
      const small = await browser.post(`${path}/${action}`, fields);
      expect(small.location).toBe(`${path}?done=${action}`);
      expect(await commands()).toHaveLength(1);
    },
  );
});

describe('an operator is asked again for both', () => {
  test.for<[act: string, path: string, formPath: string, fields: FormFields]>([
    [
      'who invites an operator',
      '/operators/invite',
      '/operators',
      { email: 'new@ops.example', role: 'support', reason: 'She begins today' },
    ],
    ['who changes a role', '/operators/ID/role', '/operators/ID', { role: 'admin' }],
    ['who resets a second factor', '/operators/ID/reset-two-factor', '/operators/ID', {}],
    [
      'who sets a linked account',
      '/merchants/MERCHANT/linked-account',
      '/merchants/MERCHANT',
      { linkedAccountId: 'acc_Other', accountReason: 'A new bank' },
    ],
    [
      'who ends a suspension',
      '/merchants/MERCHANT/decision',
      '/merchants/MERCHANT',
      { change: 'activate', reason: 'It is resolved' },
    ],
    ['who settles', '/orders/ORDER/settle', '/orders/ORDER/settle', { reason: 'By bank' }],
  ])('%s', async ([, path, formPath, fields], { service, merchant }) => {
    const { orderNumber } = await ordersOf(service, merchant).in('ACCEPTED');
    const other = await operatorUser(service.sql, 'support');
    const actual = (text: string) =>
      `/operator${text}`
        .replace('ID', other.userId)
        .replace('MERCHANT', merchant.merchantId)
        .replace('ORDER', orderNumber);
    const { userId } = await operatorUser(service.sql, 'admin');
    const cookie = await signIn(service.sql, userId, { isConfirmed: false });
    const operator = browserOf(service.origin, { cookie });
    const sent = await operator.post(actual(path), fields);
    expect(sent).toMatchObject({ status: 303, location: asked(actual(formPath)) });
    expect(await service.sql`SELECT FROM proposals WHERE proposed_by = ${userId}`).toEqual([]);
  });

  test('who approves a proposal, and not who rejects it', async ({ service, operators }) => {
    const reason = 'She begins today';
    const invited = { email: 'approved@ops.example', role: 'support', reason };
    const path = proposalOf(await operators.admin.post('/operator/operators/invite', invited));
    const { userId } = await operatorUser(service.sql, 'admin');
    const cookie = await signIn(service.sql, userId, { isConfirmed: false });
    const approver = browserOf(service.origin, { cookie });
    expect((await approver.post(`${path}/approve`)).location).toBe(asked(path));
    const stateOf = () => service.sql`
      SELECT status FROM proposals WHERE proposal_id = ${path.split('/').at(-1)!}`;
    expect(await stateOf()).toEqual([{ status: 'open' }]);
    expect((await approver.post(`${path}/reject`)).location).toBe(`${path}?done=rejected`);
    expect(await stateOf()).toEqual([{ status: 'rejected' }]);
  });
});

describe('the merchant gets a mail', () => {
  test('when a user changes the production key or the production webhook URL', async ({
    service,
  }) => {
    const { merchantId, email } = await newMerchantOf(service);
    const user = await merchantUser(service.sql, merchantId);
    const owner = browserOf(service.origin, user);
    const subjects = async () =>
      (await mailsTo(service.sql, email)).map((mail) => mail.subject).toSorted();
    await service.sql`DELETE FROM api_keys WHERE merchant_id = ${merchantId}`;
    for (const environment of ['sandbox', 'production']) {
      const at = `/dashboard/${environment}`;
      expect((await owner.post(`${at}/keys/generate`)).status).toBe(200);
      expect((await owner.post(`${at}/keys/rotate`)).status).toBe(200);
      const url = 'https://1.1.1.1/hooks?token=canary-of-the-url';
      expect((await owner.post(`${at}/webhooks`, { url })).status).toBe(200);
      // The same URL is no change.
      expect((await owner.post(`${at}/webhooks`, { url })).status).toBe(303);
      expect((await owner.post(`${at}/webhooks/remove`)).status).toBe(303);
    }
    expect(await subjects()).toEqual([
      'The secret of your production API key was replaced',
      'Your production API key was generated',
      'Your production webhook URL was changed',
      'Your production webhook URL was removed',
    ]);
    const texts = (await mailsTo(service.sql, email)).map(({ text }) => text).join();
    expect(texts).toContain(`${user.email} has generated your API key for production`);
    expect(texts).toContain('from the address 127.0.0.1');
    expect(texts).toContain('It is at 1.1.1.1 now');
    expect(texts).not.toContain('canary-of-the-url');
  });

  test('when a user refunds more than ₹5,000, once for a double click', async ({
    service,
    merchant,
    later,
  }) => {
    const { orderNumber } = await ordersOf(service, merchant).in('PAID');
    const browser = await later();
    await browser.post('/dashboard/confirm', { password: PASSWORD, next: '' });
    await service.sql`
      UPDATE orders SET amount_paise = 500001 WHERE order_number = ${orderNumber}`;
    const path = `/dashboard/sandbox/orders/${orderNumber}/refundOrder`;
    const fields = { reason: 'Sold out', idempotencyKey: 'mailed-once', confirmed: 'yes' };
    expect((await browser.post(path, fields)).status).toBe(303);
    expect((await browser.post(path, fields)).status).toBe(303);
    const mails = await mailsAbout(service.sql, orderNumber);
    expect(mails).toHaveLength(1);
    expect(mails[0]?.subject).toBe('A refund of ₹5,000.01 was asked for');
  });

  test('and none of an act that was refused', async ({ service }) => {
    const { merchantId, email } = await newMerchantOf(service);
    const owner = browserOf(service.origin, await merchantUser(service.sql, merchantId));
    const again = await owner.post(`${PRODUCTION}/keys/generate`);
    expect(again.status).toBe(400);
    const denied = await owner.post(`${PRODUCTION}/webhooks`, { url: 'http://1.1.1.1/' });
    expect(denied.status).toBe(400);
    expect(await mailsTo(service.sql, email)).toEqual([]);
  });
});

/** A merchant with an address of its own. */
async function newMerchantOf(service: TestService) {
  const { merchantId } = await service.newMerchant({ webhooks: false });
  const email = `${merchantId.toLowerCase()}@shop.example`;
  await service.sql`UPDATE merchants SET email = ${email} WHERE merchant_id = ${merchantId}`;
  return { merchantId, email };
}

async function mailsAbout(sql: TestService['sql'], orderNumber: string) {
  const [merchant] = await sql<[{ email: string }]>`
    SELECT email FROM merchants JOIN orders USING (merchant_id) WHERE order_number = ${orderNumber}`;
  return (await mailsTo(sql, merchant.email)).filter(({ text }) => text.includes(orderNumber));
}

test('the page leads nowhere but to a page of the dashboard', async ({ later }) => {
  for (const next of ['https://evil.example/', '//evil.example', '/api/merchant/v1/orders', '']) {
    const browser = await later();
    const shown = await browser.get(asked(next));
    expect(shown.body).toContain('name="next" value="/dashboard"');
    const confirmed = await browser.post('/dashboard/confirm', { password: PASSWORD, next });
    expect(confirmed.location).toBe('/dashboard');
  }
});

test('the page asks an operator for the code, and a visitor to log in', async ({
  service,
  visitor,
}) => {
  const next = '/operator/operators';
  const { userId } = await operatorUser(service.sql, 'admin');
  const cookie = await signIn(service.sql, userId, { isConfirmed: false });
  const operator = browserOf(service.origin, { cookie });
  expect((await operator.get(asked(next))).body).toContain('name="code"');
  const alone = await operator.post('/dashboard/confirm', { password: PASSWORD, next });
  expect(alone.status).toBe(400);
  expect(alone.body).toContain('The code is wrong');
  const login = `/dashboard/login?${new URLSearchParams({ next }).toString()}`;
  expect((await visitor.get(asked(next))).location).toBe(login);
  expect((await visitor.post('/dashboard/confirm', { password: PASSWORD, next })).location).toBe(
    login,
  );
  const without = await operatorUser(service.sql, 'admin', { hasTwoFactor: false });
  const first = await browserOf(service.origin, without).get(asked(next));
  expect(first.location).toBe('/operator/account');
});

test("another site's form does not confirm a session", async ({ later }) => {
  const browser = await later();
  const forged = await browser.post(
    '/dashboard/confirm',
    { password: PASSWORD, next: '/dashboard' },
    { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' },
  );
  expect(forged.status).toBe(403);
});
