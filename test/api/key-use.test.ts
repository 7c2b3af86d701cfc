import { expect } from 'vitest';
import { connectDatabase } from '../../src/db/client.ts';
import { createKeyUse, findKeyHolders } from '../../src/merchants/keys/authenticate.ts';
import { listKeys } from '../../src/merchants/keys/keys.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { keepingLog } from '../support/kept-log.ts';
import { until } from '../support/until.ts';

const test = serviceTest({ time: 'real', worker: false });

async function lastUse(service: TestService, { merchantId }: Merchant) {
  const keys = await listKeys(service.sql, merchantId);
  return keys.find(({ environment }) => environment === 'sandbox')?.lastUsedAt ?? null;
}

const untilUsed = (service: TestService, merchant: Merchant) =>
  until(() => lastUse(service, merchant));

test('a key shows when it was last used, but not a request with a wrong secret', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  const { apiKey } = merchant.keys.sandbox;
  const wrong = { 'X-API-Key': apiKey, 'X-API-Secret': 'sk_test_wrong' };
  const refused = await fetch(`${service.origin}/sandbox/api/merchant/v1/orders`, {
    headers: wrong,
  });
  expect(refused.status).toBe(401);
  expect(await lastUse(service, merchant)).toBeNull();
  const before = new Date();
  await merchant.sandbox.get('/orders');
  const usedAt = await untilUsed(service, merchant);
  expect(usedAt?.getTime()).toBeGreaterThanOrEqual(before.getTime() - 1000);
  const [, production] = await listKeys(service.sql, merchant.merchantId);
  expect(production?.lastUsedAt).toBeNull();
});

test('a use is written at most once a minute for each key, by all processes together', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  const { apiKey } = merchant.keys.sandbox;
  // One connection: a read on it follows the writes that were sent before.
  const sql = connectDatabase(service.env.DATABASE_URL, { maxConnections: 1 });
  const processes = [1, 2].map(() => createKeyUse({ sql, log: service.log }));
  const useInAll = async () => {
    processes.forEach((recordKeyUse) => recordKeyUse(apiKey));
    const [row] = await sql<{ version: string }[]>`
      SELECT xmin::text AS version FROM api_keys WHERE api_key = ${apiKey}`;
    return row?.version;
  };
  const isDue = async () => (await findKeyHolders(sql, 'sandbox', [apiKey]))[0]?.isUseDue;
  expect(await isDue()).toBe(true);
  const first = await useInAll();
  const firstUse = await lastUse(service, merchant);
  expect(firstUse).not.toBeNull();
  expect(await isDue()).toBe(false);
  // A process that has read the key before the use was written.
  expect(await useInAll()).toBe(first);
  await sql`UPDATE api_keys SET last_used_at = last_used_at - interval '1 minute'`;
  expect(await isDue()).toBe(true);
  await useInAll();
  expect(Number(await lastUse(service, merchant))).toBeGreaterThanOrEqual(Number(firstUse));
  await sql.end();
});

test('a use that cannot be written costs the request nothing', async ({ service }) => {
  const merchant = await service.newMerchant();
  const { apiKey } = merchant.keys.sandbox;
  // A transaction that holds the row: the write waits, and the requests do not.
  await service.sql.begin(async (tx) => {
    await tx`SELECT FROM api_keys WHERE api_key = ${apiKey} FOR UPDATE`;
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => merchant.sandbox.get('/orders')),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(await lastUse(service, merchant)).toBeNull();
  });
  await untilUsed(service, merchant);

  const { log, logged } = keepingLog();
  const unreachable = connectDatabase('postgres://nobody@127.0.0.1:1/none');
  createKeyUse({ sql: unreachable, log })(apiKey);
  await until(() => logged.length > 0);
  expect(logged[0]?.msg).toBe('The last use of an API key was not recorded');
  await unreachable.end({ timeout: 0 });
});
