import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import Postgrator from 'postgrator';
import { expect, inject, test } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';

/** The version before accounts belonged to one merchant and payments had an account. */
const BEFORE = '14';

const NOW = new Date();

/** A database that is as old as `BEFORE`. */
async function olderDatabase() {
  const adminUrl = inject('postgresAdminUrl');
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
  const name = `older_${randomUUID().replaceAll('-', '')}`;
  await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  const migrations = new URL('../../src/db/migrations/*.sql', import.meta.url);
  await new Postgrator({
    driver: 'pg',
    migrationPattern: fileURLToPath(migrations),
    schemaTable: 'schema_version',
    execQuery: async (query) => ({ rows: await sql.unsafe(query) }),
  }).migrate(BEFORE);
  return {
    url: url.href,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
      await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end({ timeout: 1 });
    },
  };
}

async function aMerchant(sql: postgres.Sql, merchantId: string, account: string): Promise<void> {
  await sql`
    INSERT INTO merchants (merchant_id, name, email, status)
    VALUES (${merchantId}, 'Asha', 'asha@example.com', 'APPROVED')`;
  await sql`
    INSERT INTO linked_accounts (merchant_id, environment, gateway, linked_account_id)
    VALUES (${merchantId}, 'production', 'razorpay', ${account})`;
}

async function aPayment(sql: postgres.Sql, orderNumber: string, status: string): Promise<void> {
  await sql`
    INSERT INTO orders (order_number, merchant_id, environment, gateway, idempotency_key, request_hash,
      amount_paise, description, buyer_email, buyer_phone, payment_token, status,
      payment_link_expires_at, terms, created_at, updated_at)
    VALUES (${orderNumber}, 'mer_1', 'production', 'razorpay', ${orderNumber}, '', 500, '', '', '',
      ${orderNumber}, ${status}, ${NOW}, '{}', ${NOW}, ${NOW})`;
  await sql`
    INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise)
    VALUES ('razorpay', ${`pay_${orderNumber}`}, 'production', ${orderNumber}, 500)`;
}

test('a database from before gives what is captured or held the present account of its merchant', async () => {
  await using database = await olderDatabase();
  const { sql } = database;
  await aMerchant(sql, 'mer_1', 'acc_1');
  for (const status of ['ACCEPTED', 'PAID', 'DELIVERED', 'COMPLETED']) {
    await aPayment(sql, status, status);
  }
  await migrate(database.url);
  expect(
    await sql`SELECT order_number, linked_account_id FROM payments ORDER BY order_number`,
  ).toEqual([
    { order_number: 'ACCEPTED', linked_account_id: 'acc_1' },
    { order_number: 'COMPLETED', linked_account_id: null },
    { order_number: 'DELIVERED', linked_account_id: 'acc_1' },
    { order_number: 'PAID', linked_account_id: 'acc_1' },
  ]);
  expect(
    await sql`SELECT linked_account_id FROM active_linked_account('mer_1', 'production', 'razorpay')`,
  ).toEqual([{ linked_account_id: 'acc_1' }]);
});

test('a database in which merchants share an account is not migrated, and the error names them', async () => {
  await using database = await olderDatabase();
  await aMerchant(database.sql, 'mer_1', 'acc_1');
  await aMerchant(database.sql, 'mer_2', 'acc_1');
  await expect(migrate(database.url)).rejects.toThrow(
    'The linked account acc_1 at razorpay belongs to several merchants (mer_1, mer_2)',
  );
});
