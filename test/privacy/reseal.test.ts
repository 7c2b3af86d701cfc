import { expect } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import { resealAll } from '../../src/privacy/reseal.ts';
import { webhookSecretContext } from '../../src/webhooks/schedule/attempt.ts';
import { rotateWebhookSecret, saveWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import type { SecretBox } from '../../src/secret-box.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';

const OLD = `2025:${Buffer.alloc(32, 1).toString('base64')}`;
const NEW = `2026:${Buffer.alloc(32, 2).toString('base64')}`;

const test = databaseTest();

const depsWith = (database: TestDatabase, secretBox: SecretBox) => ({
  sql: database.sql,
  secretBox,
  actor: TEST_ACTOR,
});

const resealDeps = (sql: TestDatabase['sql'], secretBox: SecretBox) => ({
  sql,
  actor: TEST_ACTOR,
  boxes: { WEBHOOK_SECRET_KEYS: secretBox, DATA_ENCRYPTION_KEYS: secretBox },
});

/** Merchants with one webhook secret each, encrypted with the old key. */
async function merchantsWithSecrets(
  database: TestDatabase,
  count: number,
): Promise<Map<string, string>> {
  const deps = {
    ...depsWith(database, createSecretBox(OLD)),
    checkUrl: async (url: string) => ({ ok: true as const, url: new URL(url), warning: null }),
  };
  const secrets = new Map<string, string>();
  for (let index = 0; index < count; index += 1) {
    const { merchantId } = await createMerchant(deps, {
      name: `Merchant ${index}`,
      email: 'a@example.com',
    });
    await changeMerchantStatus(deps, merchantId, 'approve');
    const url = 'https://example.com/hooks';
    const { secret } = await saveWebhookUrl(deps, merchantId, 'sandbox', url);
    secrets.set(merchantId, secret ?? '');
  }
  return secrets;
}

async function openAll(database: TestDatabase, secretBox: SecretBox): Promise<Map<string, string>> {
  const rows = await database.sql<{ merchantId: string; sealed: string }[]>`
    SELECT merchant_id, webhook_secret_sealed AS sealed FROM merchant_environments`;
  return new Map(
    rows.map(({ merchantId, sealed }) => [
      merchantId,
      secretBox.open(sealed, webhookSecretContext(merchantId, 'sandbox')),
    ]),
  );
}

test('a key rotation that is interrupted and repeated loses no secret, also without the old key', async ({
  database,
}) => {
  const secrets = await merchantsWithSecrets(database, 7);
  const both = createSecretBox(`${NEW},${OLD}`);
  let opened = 0;
  const dying: SecretBox = {
    ...both,
    open(sealed, place) {
      opened += 1;
      if (opened > 3) throw new Error('The process was killed');
      return both.open(sealed, place);
    },
  };
  await expect(resealAll(resealDeps(database.sql, dying))).rejects.toThrow('killed');
  expect(await openAll(database, both)).toEqual(secrets);

  const [rotatedId = ''] = [...secrets.keys()].sort();
  const { secret } = await rotateWebhookSecret(depsWith(database, both), rotatedId, 'sandbox');
  secrets.set(rotatedId, secret);

  const deps = resealDeps(database.sql, both);
  expect(await resealAll(deps)).toEqual({ resealed: 4, unreadable: [] });
  expect(await openAll(database, createSecretBox(NEW))).toEqual(secrets);
  expect(await resealAll(deps)).toEqual({ resealed: 0, unreadable: [] });
  const audit = await database.sql`
    SELECT details FROM audit_log WHERE action = 'keys.reseal' ORDER BY audit_id`;
  expect(audit.map(({ details }) => details)).toEqual([{ resealed: 3 }, { resealed: 4 }]);
});

test('a secret that changes during the key rotation keeps its new value', async ({ database }) => {
  const [[merchantId = ''] = []] = await merchantsWithSecrets(database, 1);
  const both = createSecretBox(`${NEW},${OLD}`);
  const old = depsWith(database, createSecretBox(OLD));
  let rotated: Promise<{ secret: string }> | undefined;
  // The merchant rotates the secret through another process between the read and the write.
  const sql = new Proxy(database.sql, {
    apply(target, self, args: [readonly string[] | string, ...unknown[]]) {
      const query = () => Reflect.apply(target, self, args);
      const [text] = args;
      if (rotated || typeof text === 'string' || !text[0]?.includes('UPDATE')) return query();
      rotated = rotateWebhookSecret(old, merchantId, 'sandbox');
      return rotated.then(query);
    },
  });
  expect(await resealAll(resealDeps(sql, both))).toEqual({ resealed: 0, unreadable: [] });
  const { secret } = (await rotated) ?? { secret: '' };
  expect((await openAll(database, both)).get(merchantId)).toBe(secret);
  // It was sealed with the old key: the next run does the rest.
  expect(await resealAll(resealDeps(database.sql, both))).toMatchObject({ resealed: 1 });
  expect((await openAll(database, createSecretBox(NEW))).get(merchantId)).toBe(secret);
});

test('two keys with one id are refused, because one of them would be lost', () => {
  const twice = `${NEW},2026:${Buffer.alloc(32, 9).toString('base64')}`;
  expect(() => loadConfig({ WEBHOOK_SECRET_KEYS: twice })).toThrow(/WEBHOOK_SECRET_KEYS is wrong/);
});
