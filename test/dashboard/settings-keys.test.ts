import { describe, expect } from 'vitest';
import { findOrigins } from '../../src/merchants/origins.ts';
import { auditOf } from '../support/audit.ts';
import { until } from '../support/until.ts';
import { merchantUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', worker: false });

const SECRET = /sk_(?:test|live)_[0-9A-Za-z]{36}/;
const KEY = /mk_(?:test|live)_[0-9A-Za-z]{36}/;

describe('keys', () => {
  test('of a merchant who is not approved cannot be generated, and the page says so', async ({
    service,
  }) => {
    const merchant = await service.newMerchant({ webhooks: false });
    await service.sql`DELETE FROM api_keys WHERE merchant_id = ${merchant.merchantId}`;
    await service.sql`
      UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchant.merchantId}`;
    const owner = browserOf(service.origin, await merchantUser(service.sql, merchant.merchantId));
    const { body } = await owner.get('/dashboard/sandbox/keys');
    expect(body).toContain('Keys can be generated once your business is approved');
    expect(body).not.toContain('/keys/generate');
    const refused = await owner.post('/dashboard/sandbox/keys/generate');
    expect(refused.status).toBe(403);
    expect(refused.body).toContain('Merchant must be approved first');
  });

  test('are generated after the approval, shown once, and work at the API', async ({ service }) => {
    const merchant = await service.newMerchant({ webhooks: false });
    await service.sql`DELETE FROM api_keys WHERE merchant_id = ${merchant.merchantId}`;
    const user = await merchantUser(service.sql, merchant.merchantId);
    const owner = browserOf(service.origin, user);
    const before = await owner.get('/dashboard/production/keys');
    expect(before.body).toContain('A production key moves real money');
    const generated = await owner.post('/dashboard/production/keys/generate');
    expect(generated.status).toBe(200);
    expect(generated.headers.get('cache-control')).toBe('no-store');
    const [apiKey = ''] = KEY.exec(generated.body) ?? [];
    const [apiSecret = ''] = SECRET.exec(generated.body) ?? [];
    expect(generated.body).toContain('download="production-api-key.txt"');
    const response = await fetch(`${service.origin}/api/merchant/v1/orders`, {
      headers: { 'X-API-Key': apiKey, 'X-API-Secret': apiSecret },
    });
    expect(response.status).toBe(200);

    const after = await until(async () => {
      const { body } = await owner.get('/dashboard/production/keys');
      return !body.includes('Not yet') && body;
    });
    expect(after).toContain(apiKey);
    expect(after).not.toMatch(SECRET);
    const again = await owner.post('/dashboard/production/keys/generate');
    expect(again.status).toBe(400);
    expect(again.body).toContain('rotate its secret');
    const audit = await auditOf(service.sql, merchant.merchantId);
    expect(audit.at(-1)).toMatchObject({
      action: 'key.create',
      subject: apiKey,
      actor: `merchant:${user.email}`,
    });
  });

  test('are rotated after a question that says that the old secret stops at once', async ({
    merchant,
    owner,
  }) => {
    const question = await owner.get('/dashboard/production/keys/rotate');
    expect(question.body).toContain('The old secret stops working at once');
    expect(question.body).toContain('This is production');
    expect((await owner.get('/dashboard/sandbox/keys/rotate')).body).not.toContain('is production');
    expect((await merchant.sandbox.get('/orders')).status).toBe(200);
    const rotated = await owner.post('/dashboard/sandbox/keys/rotate');
    expect(rotated.body).toMatch(SECRET);
    expect(rotated.body).not.toContain(merchant.keys.sandbox.apiSecret);
    expect((await merchant.sandbox.get('/orders')).status).toBe(401);
    expect((await merchant.production.get('/orders')).status).toBe(200);
    expect((await owner.get('/dashboard/sandbox/keys')).body).toContain('Secret replaced');
  });
});

describe('approved domains', () => {
  test('are saved as the API compares them, and shown', async ({ service, merchant, owner }) => {
    const domains = 'Shop.Example.com\nhttps://other.example\n';
    const saved = await owner.post('/dashboard/sandbox/keys/domains', { domains });
    expect(saved).toMatchObject({
      status: 303,
      location: '/dashboard/sandbox/keys?done=domains',
    });
    const origins = ['https://shop.example.com', 'https://other.example'];
    expect(await findOrigins(service.sql, merchant.merchantId, 'sandbox')).toEqual(origins);
    expect(await findOrigins(service.sql, merchant.merchantId, 'production')).toEqual([]);
    const { body } = await owner.get('/dashboard/sandbox/keys?done=domains');
    expect(body).toContain('https://shop.example.com\nhttps://other.example');
    expect(body).toContain('The approved domains are saved');
  });

  test('that are none are refused at their field, with what was typed', async ({ owner }) => {
    const domains = 'https://shop.example.com/<path>';
    const refused = await owner.post('/dashboard/sandbox/keys/domains', { domains });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('is no origin: it must be like https://shop.example.com');
    expect(refused.body).toContain('https://shop.example.com/&lt;path></textarea>');
  });
});
