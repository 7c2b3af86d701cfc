import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { mailContext } from '../../src/mail/public.ts';
import { createAuthenticate, createRenewHmac } from '../../src/merchants/keys/authenticate.ts';
import { pepperIdsOf } from '../../src/merchants/keys/credentials.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import { createKeyPair } from '../../src/merchants/keys/keys.ts';
import type { KeyReport, KeyUsage } from '../../src/privacy/key-usage.ts';
import { SEALED_COLUMNS } from '../../src/privacy/sealed-columns.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { adminCli } from '../support/admin-cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';
import { keepingLog } from '../support/kept-log.ts';
import { until } from '../support/until.ts';

const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const OLD = key('2025', 1);
const NEW = key('2026', 2);
const OLD_PEPPER = 'the old pepper of the service in 2025';
const NEW_PEPPER = 'the new pepper of the service in 2026';

const test = databaseTest();

const cliWith = (database: TestDatabase, keys: string, pepper = OLD_PEPPER) =>
  adminCli({
    DATABASE_URL: database.url,
    WEBHOOK_SECRET_KEYS: keys,
    DATA_ENCRYPTION_KEYS: keys,
    API_SECRET_PEPPER: pepper,
  });

/** A merchant with a value in each sealed column, sealed with this key. */
async function writeSealedValues({ sql }: TestDatabase, keys: string, secret: string) {
  const box = createSecretBox(keys);
  const { merchantId } = await createMerchant(
    { sql, actor: TEST_ACTOR },
    {
      name: 'Asha Textiles',
      email: 'owner@example.com',
    },
  );
  const ids = {
    merchantId,
    environment: 'sandbox',
    userId: `usr_${randomUUID()}`,
    documentId: `doc_${randomUUID()}`,
    mailId: `mail_${randomUUID()}`,
    holder: `user:${randomUUID()}`,
    path: '/dashboard/sandbox/webhooks',
  };
  const sealed = Object.fromEntries(
    SEALED_COLUMNS.map((column) => {
      const context = column.contextOf(ids);
      return [
        column.name,
        column.isBinary ? box.sealBytes(Buffer.from(secret), context) : box.seal(secret, context),
      ];
    }),
  );
  const text = (name: string) => sealed[name] as string;
  const bytes = (name: string) => sealed[name] as Buffer;
  await sql`
    INSERT INTO merchant_environments (merchant_id, environment, webhook_secret_sealed)
    VALUES (${merchantId}, 'sandbox', ${text('webhook secrets')})`;
  await sql`
    INSERT INTO users (user_id, email, merchant_id, totp_secret_sealed)
    VALUES (${ids.userId}, ${`${randomUUID()}@example.com`}, ${merchantId}, ${text('two-factor secrets')})`;
  await sql`
    INSERT INTO merchant_applications (merchant_id, account_number_sealed, account_last_four)
    VALUES (${merchantId}, ${text('bank account numbers')}, '1234')`;
  await sql`
    INSERT INTO merchant_documents (document_id, merchant_id, kind, file_name, media_type, size_bytes, sha256, content_sealed)
    VALUES (${ids.documentId}, ${merchantId}, 'bank', 'a.pdf', 'application/pdf', 1, ${Buffer.alloc(32)}, ${bytes('documents')})`;
  await sql`INSERT INTO mails (mail_id, sealed) VALUES (${ids.mailId}, ${bytes('mails that wait')})`;
  await sql`
    INSERT INTO kept_forms (holder, path, content_sealed, expires_at)
    VALUES (${ids.holder}, ${ids.path}, ${bytes('kept forms')}, now() + interval '1 hour')`;
  return ids;
}

async function openAll({ sql }: TestDatabase, keys: string): Promise<string[]> {
  const box = createSecretBox(keys);
  const opened: string[] = [];
  for (const column of SEALED_COLUMNS) {
    const rows = await sql<(Record<string, string> & { sealed: string | Buffer })[]>`
      SELECT ${sql([...column.key])}, ${sql(column.column)} AS sealed FROM ${sql(column.table)}
      WHERE ${sql(column.column)} IS NOT NULL`;
    for (const { sealed, ...names } of rows) {
      const context = column.contextOf(names);
      opened.push(
        typeof sealed === 'string'
          ? box.open(sealed, context)
          : box.openBytes(sealed, context).toString(),
      );
    }
  }
  return opened;
}

const usageOf = ({ keys }: KeyReport, setting: KeyUsage['setting'], keyId: string) =>
  keys.find((one) => one.setting === setting && one.keyId === keyId);

test('every sealed column of the schema is sealed again', async ({ database: { sql } }) => {
  const columns = await sql<{ name: string }[]>`
    SELECT table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name LIKE '%sealed%' AND data_type IN ('text', 'bytea')`;
  const listed = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`);
  expect(listed.toSorted()).toEqual(columns.map(({ name }) => name).toSorted());
  // The schema names a sealed column so. The other columns with bytes are hashes, signatures and answers.
  const others = await sql<{ name: string }[]>`
    SELECT DISTINCT column_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name NOT LIKE '%sealed%'
      AND column_name NOT SIMILAR TO '%(hash|hmac|signature|sha256)%'`;
  expect(others.map(({ name }) => name).toSorted()).toEqual(['response_body', 'subject']);
});

test('after keys reseal nothing needs the old key, which can then be removed', async ({
  database,
}) => {
  await writeSealedValues(database, OLD, 'a secret');
  await writeSealedValues(database, OLD, 'another');
  await writeSealedValues(database, NEW, 'a newer one');
  const cli = cliWith(database, `${NEW},${OLD}`);
  const before = await cli.json<KeyReport>('keys', 'list');
  expect(usageOf(before, 'WEBHOOK_SECRET_KEYS', '2025')).toEqual({
    setting: 'WEBHOOK_SECRET_KEYS',
    keyId: '2025',
    role: 'older',
    rows: 2,
    of: { 'webhook secrets': 2 },
  });
  expect(usageOf(before, 'DATA_ENCRYPTION_KEYS', '2025')).toMatchObject({
    role: 'older',
    rows: 10,
  });
  // The newest key alone does not open them.
  const tooEarly = await cliWith(database, NEW).jsonOfFailure<KeyReport>('keys', 'list');
  expect(usageOf(tooEarly, 'DATA_ENCRYPTION_KEYS', '2025')).toMatchObject({
    role: 'missing',
    rows: 10,
  });

  const resealed = await cli.json<KeyReport & { resealed: number }>('keys', 'reseal');
  expect(resealed.resealed).toBe(12);
  expect(usageOf(resealed, 'WEBHOOK_SECRET_KEYS', '2025')).toMatchObject({ rows: 0 });
  expect(usageOf(resealed, 'DATA_ENCRYPTION_KEYS', '2025')).toMatchObject({ rows: 0 });
  expect((await openAll(database, NEW)).toSorted()).toEqual([
    ...Array<string>(6).fill('a newer one'),
    ...Array<string>(6).fill('a secret'),
    ...Array<string>(6).fill('another'),
  ]);
  expect(await cli.json('keys', 'reseal')).toMatchObject({ resealed: 0, unreadable: [] });
  expect((await cli.run('keys', 'list')).stdout).toMatch(
    /DATA_ENCRYPTION_KEYS +2025 +0 +can be removed/,
  );
  await cliWith(database, NEW).json('keys', 'list');
  const audit = await database.sql`
    SELECT details FROM audit_log WHERE action = 'keys.reseal'`;
  expect(audit.map(({ details }) => details)).toEqual([{ resealed: 12 }]);
});

test('a value that no key opens is reported and left as it is, and does not block the others', async ({
  database,
}) => {
  const { mailId } = await writeSealedValues(database, OLD, 'a secret');
  const stray = createSecretBox(key('2024', 9)).sealBytes(Buffer.from('x'), mailContext(mailId));
  await database.sql`UPDATE mails SET sealed = ${stray} WHERE mail_id = ${mailId}`;
  const cli = cliWith(database, `${NEW},${OLD}`);
  const result = await cli.jsonOfFailure<KeyReport>('keys', 'reseal');
  expect(result).toMatchObject({
    resealed: 5,
    unreadable: [
      { what: 'mails that wait', row: mailId, reason: 'No encryption key has the id "2024"' },
    ],
  });
  expect(usageOf(result, 'DATA_ENCRYPTION_KEYS', '2024')).toMatchObject({
    role: 'missing',
    rows: 1,
  });
  await database.sql`DELETE FROM mails WHERE mail_id = ${mailId}`;
});

/** An API process with this list of peppers. */
function apiWith({ sql }: TestDatabase, pepper: string) {
  const { log } = keepingLog();
  const authenticate = createAuthenticate({
    sql,
    pepper,
    renewHmac: createRenewHmac({ sql, pepper, log }),
  });
  return (apiKey: string, apiSecret: string) =>
    authenticate({ environment: 'sandbox', apiKey, apiSecret, origin: undefined }).then(
      () => 200,
      (error: { code?: string }) => error.code,
    );
}

test('API secrets move to the new pepper as they are used, with two processes rolling one after the other', async ({
  database,
}) => {
  const { sql } = database;
  const deps = { sql, actor: TEST_ACTOR, pepper: OLD_PEPPER };
  const newKey = async () => {
    const { merchantId } = await createMerchant(deps, { name: 'Asha', email: 'a@example.com' });
    await changeMerchantStatus(deps, merchantId, 'approve');
    return createKeyPair(deps, merchantId, 'sandbox');
  };
  const used = await newKey();
  const unused = await newKey();
  const pepperOf = async (apiKey: string) => {
    const [row] = await sql<{ pepperId: string }[]>`
      SELECT pepper_id FROM api_keys WHERE api_key = ${apiKey}`;
    return row?.pepperId;
  };
  const [oldId] = pepperIdsOf(OLD_PEPPER);
  const [newId] = pepperIdsOf(NEW_PEPPER);

  // First the new pepper is the second one everywhere, then it is the first one in one process.
  const second = apiWith(database, `${OLD_PEPPER},${NEW_PEPPER}`);
  const first = apiWith(database, `${NEW_PEPPER},${OLD_PEPPER}`);
  expect(await pepperOf(used.apiKey)).toBe(oldId);
  expect(await first(used.apiKey, used.apiSecret)).toBe(200);
  await until(async () => (await pepperOf(used.apiKey)) === newId);
  // No request waits for a renewal: the other one must not come between the next one and its check.
  expect(await second(used.apiKey, used.apiSecret)).toBe(200);
  await until(async () => (await pepperOf(used.apiKey)) === oldId);
  expect(await first(used.apiKey, used.apiSecret)).toBe(200);
  expect(await first(used.apiKey, `${used.apiSecret}x`)).toBe('UNAUTHORIZED');
  expect(await first('mk_test_unknown', used.apiSecret)).toBe('UNAUTHORIZED');
  await until(async () => {
    await first(used.apiKey, used.apiSecret);
    return (await pepperOf(used.apiKey)) === newId;
  });

  const cli = cliWith(database, NEW, `${NEW_PEPPER},${OLD_PEPPER}`);
  const report = await cli.json<KeyReport>('keys', 'list');
  expect(usageOf(report, 'API_SECRET_PEPPER', oldId ?? '')).toMatchObject({
    role: 'older',
    rows: 1,
  });
  expect(report.unusedApiKeys).toMatchObject([{ apiKey: unused.apiKey }]);
  // The key that was not used needs the old pepper: without it, its secret must be replaced.
  const newest = apiWith(database, NEW_PEPPER);
  expect(await newest(used.apiKey, used.apiSecret)).toBe(200);
  expect(await newest(unused.apiKey, unused.apiSecret)).toBe('UNAUTHORIZED');
  expect(await first(unused.apiKey, unused.apiSecret)).toBe(200);
  await until(async () => (await pepperOf(unused.apiKey)) === newId);
  expect(await newest(unused.apiKey, unused.apiSecret)).toBe(200);
});

test('a rotation of the secret wins over the renewal of its HMAC at the same time', async ({
  database,
}) => {
  const { sql } = database;
  const deps = { sql, actor: TEST_ACTOR, pepper: OLD_PEPPER };
  const { merchantId } = await createMerchant(deps, { name: 'Asha', email: 'a@example.com' });
  await changeMerchantStatus(deps, merchantId, 'approve');
  const pair = await createKeyPair(deps, merchantId, 'sandbox');
  const [before] = await sql<{ secretHmac: Buffer; pepperId: string }[]>`
    SELECT secret_hmac, pepper_id FROM api_keys WHERE api_key = ${pair.apiKey}`;
  await sql`
    UPDATE api_keys SET secret_hmac = ${Buffer.alloc(32, 5)} WHERE api_key = ${pair.apiKey}`;
  const { log } = keepingLog();
  const renew = createRenewHmac({ sql, pepper: `${NEW_PEPPER},${OLD_PEPPER}`, log });
  renew(pair.apiKey, pair.apiSecret, before ?? { secretHmac: Buffer.alloc(0), pepperId: '' });
  // A statement on the same connection pool that waits for the row.
  const [after] = await sql<{ secretHmac: Buffer }[]>`
    UPDATE api_keys SET last_used_at = now() WHERE api_key = ${pair.apiKey} RETURNING secret_hmac`;
  expect(after?.secretHmac).toEqual(Buffer.alloc(32, 5));
});
