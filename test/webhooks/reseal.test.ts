import { expect } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import { webhookSecretContext } from '../../src/webhooks/deliver.ts';
import { findEndpoint, rotateWebhookSecret, saveWebhookUrl } from '../../src/webhooks/endpoints.ts';
import { resealSecrets } from '../../src/webhooks/reseal.ts';
import type { SecretBox } from '../../src/secret-box.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { adminCli } from '../support/admin-cli.ts';
import { auditOf } from '../support/audit.ts';
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
  await expect(resealSecrets(depsWith(database, dying))).rejects.toThrow('killed');
  expect(await openAll(database, both)).toEqual(secrets);

  const [rotatedId = '', ...others] = [...secrets.keys()].sort();
  const { secret } = await rotateWebhookSecret(depsWith(database, both), rotatedId, 'sandbox');
  secrets.set(rotatedId, secret);

  const cli = adminCli({ DATABASE_URL: database.url, WEBHOOK_SECRET_KEYS: `${NEW},${OLD}` });
  expect(await cli.json('webhook', 'rotate-keys')).toEqual({
    resealed: 4,
    current: 3,
    unreadable: [],
  });
  expect(await openAll(database, createSecretBox(NEW))).toEqual(secrets);
  expect(await cli.json('webhook', 'rotate-keys')).toMatchObject({ resealed: 0, current: 7 });
  expect((await auditOf(database.sql, others.at(-1) ?? '')).map(({ action }) => action)).toEqual([
    'merchant.create',
    'merchant.approve',
    'webhook.set',
    'webhook.reseal',
  ]);
});

test('a secret that changes during the key rotation keeps its new value', async ({ database }) => {
  const [[merchantId = ''] = []] = await merchantsWithSecrets(database, 1);
  const both = createSecretBox(`${NEW},${OLD}`);
  const old = depsWith(database, createSecretBox(OLD));
  let rotated: Promise<{ secret: string }> | undefined;
  // The merchant rotates the secret through another process between the read and the write.
  const sql = new Proxy(database.sql, {
    apply(target, self, args: [readonly string[], ...unknown[]]) {
      const query = () => Reflect.apply(target, self, args);
      if (rotated || !args[0].join('').includes("'webhook.reseal'")) return query();
      rotated = rotateWebhookSecret(old, merchantId, 'sandbox');
      return rotated.then(query);
    },
  });
  expect(await resealSecrets({ ...depsWith(database, both), sql })).toMatchObject({
    unreadable: [],
  });
  const { secret } = (await rotated) ?? { secret: '' };
  expect((await openAll(database, createSecretBox(NEW))).get(merchantId)).toBe(secret);
});

test('a secret that no key decrypts is reported and left unchanged, and does not block the others', async ({
  database,
}) => {
  const secrets = await merchantsWithSecrets(database, 2);
  const [brokenId = '', soundId = ''] = secrets.keys();
  await database.sql`
    UPDATE merchant_environments SET webhook_secret_sealed = (
      SELECT webhook_secret_sealed FROM merchant_environments WHERE merchant_id = ${soundId})
    WHERE merchant_id = ${brokenId}`;
  const cli = adminCli({ DATABASE_URL: database.url, WEBHOOK_SECRET_KEYS: `${NEW},${OLD}` });
  const { code, stdout } = await cli.run('webhook', 'rotate-keys', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    resealed: 1,
    unreadable: [
      {
        merchantId: brokenId,
        environment: 'sandbox',
        reason: 'The sealed secret was changed, or moved here from another place',
      },
    ],
  });
  expect(await findEndpoint(database.sql, brokenId, 'sandbox')).toMatchObject({ hasSecret: true });
});

test('two keys with one id are refused, because one of them would be lost', () => {
  const twice = `${NEW},2026:${Buffer.alloc(32, 9).toString('base64')}`;
  expect(() => loadConfig({ WEBHOOK_SECRET_KEYS: twice })).toThrow(/WEBHOOK_SECRET_KEYS is wrong/);
});
