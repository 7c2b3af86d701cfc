import { describe, expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import type { Verification } from '../../src/ledger/verify.ts';
import { showLedger, verifyLedger } from '../../src/ledger/verify.ts';
import { adminCli } from '../support/admin-cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';
import { writeSoundLedger } from './sound-ledger.ts';

const test = databaseTest();
test.beforeAll(({ database }) => writeSoundLedger(database.sql));

/** The findings of `verify` after a manipulation of the data, which is then reverted. */
async function verifyAfter(
  database: TestDatabase,
  tamper: (sql: Sql) => Promise<unknown>,
): Promise<Verification> {
  const undone = new Error('undone');
  let result: Verification | undefined;
  await database.sql
    .begin(async (transaction) => {
      const sql = transaction as unknown as Sql;
      await sql`ALTER TABLE ledger_transfers DISABLE TRIGGER ALL`;
      await sql`DROP INDEX ledger_transfers_one_way_out`;
      await sql`ALTER TABLE ledger_transfers
        DROP CONSTRAINT ledger_transfers_payment_operation_key`;
      await tamper(sql);
      result = await verifyLedger(sql);
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  if (!result) throw new Error('verify always answers');
  return result;
}

/** The faults, without the account imbalances that any wrong line causes as well. */
const named = ({ faults }: Verification) =>
  faults.filter(({ rule }) => rule !== 'account').map(({ rule, subject }) => `${rule} ${subject}`);

describe('a sound ledger', () => {
  test('adds up to zero, and each account has the balance that the orders require', async ({
    database,
  }) => {
    const verification = await verifyLedger(database.sql);
    expect(verification).toMatchObject({
      ok: true,
      faultCount: 0,
      faults: [],
      orderCount: 8,
      captureCount: 8,
      lineCount: 11,
      surplusCount: 2,
      capturesUnderWay: 0,
    });
    expect(verification.sums).toEqual([
      { environment: 'sandbox', sumPaise: 0 },
      { environment: 'production', sumPaise: 0 },
    ]);
    const sandbox = verification.accounts.filter(({ environment }) => environment === 'sandbox');
    expect(sandbox.map(({ account, balancePaise }) => [account, balancePaise])).toEqual([
      ['gateway_clearing', -171_111],
      ['merchant_held', 41_111],
      ['merchant_available', 20_000],
      ['surplus', 40_000],
      ['refunds', 70_000],
      ['platform_losses', 0],
      ['gateway_fees', 0],
    ]);
    expect(verification.accounts.every((one) => one.balancePaise === one.expectedPaise)).toBe(true);
  });

  test('stays sound while a capture has not reached its order yet', async ({ database }) => {
    const verification = await verifyAfter(
      database,
      (sql) => sql`
        INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise)
        VALUES ('razorpay', 'pay_new', 'sandbox', 'ORD_ACCEPTED', 10000)`,
    );
    expect(verification).toMatchObject({ ok: true, capturesUnderWay: 1 });
  });

  test('without any order is sound', async () => {
    const empty = await createTestDatabase();
    expect(await verifyLedger(empty.sql)).toMatchObject({ ok: true, orderCount: 0 });
    await empty.drop();
  });
});

describe('a manipulated ledger is detected', () => {
  test.for<[string, (sql: Sql) => Promise<unknown>, string[]]>([
    [
      'a capture whose line is gone',
      (sql) => sql`DELETE FROM ledger_transfers WHERE gateway_payment_id = 'pay_ORD_PAID'`,
      ['capture razorpay:pay_ORD_PAID', 'order ORD_PAID'],
    ],
    [
      'a capture that was booked twice',
      (sql) => sql`
        INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
          environment, debit_account, credit_account, amount_paise)
        SELECT gateway, gateway_payment_id, operation, order_number, merchant_id, environment,
          debit_account, credit_account, amount_paise
        FROM ledger_transfers WHERE gateway_payment_id = 'pay_ORD_PAID'`,
      ['capture razorpay:pay_ORD_PAID', 'order ORD_PAID'],
    ],
    [
      'a capture that reached no order for an hour',
      (sql) => sql`
        INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise,
          captured_at)
        VALUES ('razorpay', 'pay_lost', 'sandbox', 'ORD_ACCEPTED', 10000, now() - interval '1 hour')`,
      ['capture razorpay:pay_lost'],
    ],
    [
      "a merchant's day that is not the sum of its lines",
      async (sql) => {
        await sql`UPDATE ledger_seal SET sealed_to = (SELECT max(transfer_id) FROM ledger_transfers)`;
        await sql`
          INSERT INTO ledger_days
          SELECT merchant_id, environment, indian_day(booked_at), debit_account, credit_account,
            sum(amount_paise) + CASE WHEN credit_account = 'surplus' THEN 1 ELSE 0 END
          FROM ledger_transfers
          GROUP BY merchant_id, environment, indian_day(booked_at), debit_account, credit_account`;
      },
      [expect.stringMatching(/^day mer_1 sandbox \d{4}-\d\d-\d\d$/) as string],
    ],
    [
      'a line of another amount',
      (sql) => sql`
        UPDATE ledger_transfers SET amount_paise = amount_paise + 1
        WHERE gateway_payment_id = 'pay_ORD_PAID'`,
      ['capture razorpay:pay_ORD_PAID', 'order ORD_PAID'],
    ],
    [
      "a line of another merchant's",
      (sql) => sql`
        UPDATE ledger_transfers SET merchant_id = 'mer_2'
        WHERE gateway_payment_id = 'pay_ORD_PAID'`,
      ['line razorpay:pay_ORD_PAID'],
    ],
    [
      'a release straight from the gateway',
      (sql) => sql`
        UPDATE ledger_transfers SET debit_account = 'gateway_clearing'
        WHERE gateway_payment_id = 'pay_ORD_COMPLETED' AND operation = 'release'`,
      ['line razorpay:pay_ORD_COMPLETED', 'order ORD_COMPLETED'],
    ],
    [
      'a fee without its line',
      (sql) => sql`UPDATE payments SET fee_paise = 100 WHERE gateway_payment_id = 'pay_ORD_PAID'`,
      ['fee razorpay:pay_ORD_PAID'],
    ],
    [
      'a fee that was charged to a merchant',
      (sql) => sql`
        INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
          environment, debit_account, credit_account, amount_paise)
        VALUES ('razorpay', 'pay_ORD_PAID', 'payment_fee', 'ORD_PAID', 'mer_1', 'sandbox',
          'merchant_held', 'gateway_clearing', 100)`,
      ['fee razorpay:pay_ORD_PAID', 'line razorpay:pay_ORD_PAID'],
    ],
    [
      'a completed order that was never released',
      (sql) => sql`
        DELETE FROM ledger_transfers
        WHERE gateway_payment_id = 'pay_ORD_COMPLETED' AND operation = 'release'`,
      ['order ORD_COMPLETED'],
    ],
    [
      'an order that is released and refunded',
      (sql) => sql`
        INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
          environment, debit_account, credit_account, amount_paise)
        VALUES ('razorpay', 'pay_ORD_COMPLETED', 'refund', 'ORD_COMPLETED', 'mer_1', 'sandbox',
          'merchant_held', 'refunds', 20000)`,
      ['order ORD_COMPLETED'],
    ],
    [
      'a status that was set by hand',
      (sql) => sql`UPDATE orders SET status = 'COMPLETED' WHERE order_number = 'ORD_DELIVERED'`,
      ['order ORD_DELIVERED'],
    ],
    [
      'an order that calls itself paid',
      (sql) => sql`UPDATE orders SET status = 'PAID' WHERE order_number = 'ORD_ACCEPTED'`,
      ['order ORD_ACCEPTED'],
    ],
    [
      'an order that forgot its payment',
      (sql) => sql`
        UPDATE orders SET status = 'ACCEPTED', gateway_payment_id = NULL
        WHERE order_number = 'ORD_PAID'`,
      ['owner razorpay:pay_ORD_PAID'],
    ],
    [
      'a refunded order without its time of refund',
      (sql) => sql`
        UPDATE orders SET refund_processed_at = NULL WHERE order_number = 'ORD_REFUNDED'`,
      ['order ORD_REFUNDED'],
    ],
    [
      'a surplus that says it was given back',
      (sql) => sql`
        UPDATE surplus_refunds SET processed_at = now() WHERE gateway_payment_id = 'pay_waiting'`,
      ['surplus razorpay:pay_waiting'],
    ],
    [
      'a surplus that was given back and does not say so',
      (sql) => sql`
        UPDATE surplus_refunds SET processed_at = NULL
        WHERE gateway_payment_id = 'pay_given_back'`,
      ['surplus razorpay:pay_given_back'],
    ],
    [
      'a surplus in the ledger alone',
      (sql) => sql`DELETE FROM surplus_refunds WHERE gateway_payment_id = 'pay_waiting'`,
      ['surplus razorpay:pay_waiting'],
    ],
  ])('%s', async ([_name, tamper, expected], { database }) => {
    const verification = await verifyAfter(database, tamper);
    expect(verification.ok).toBe(false);
    expect(named(verification)).toEqual(expected);
  });

  test('an order whose amount was changed contradicts its lines and the accounts', async ({
    database,
  }) => {
    const verification = await verifyAfter(database, async (sql) => {
      await sql`UPDATE orders SET amount_paise = 9999 WHERE order_number = 'ORD_PAID'`;
    });
    expect(named(verification)).toEqual(['order ORD_PAID']);
    expect(verification.faults.find(({ rule }) => rule === 'account')?.subject).toMatch(
      /^sandbox /,
    );
  });
});

describe('the command', () => {
  test('prints the figures and exits with 0 for a sound ledger, and with 1 otherwise', async ({
    database,
  }) => {
    const cli = adminCli({ DATABASE_URL: database.url });
    const sound = await cli.run('ledger', 'verify');
    expect(sound.code).toBe(0);
    expect(sound.stdout).toMatch(/sandbox +gateway_clearing +INR -1711\.11 +INR -1711\.11/);
    expect(sound.stdout).toMatch(/sandbox +sum +INR 0\.00 +INR 0\.00/);
    expect(sound.stdout).toContain('The ledger is sound');

    const copy = await createTestDatabase();
    await writeSoundLedger(copy.sql);
    await copy.sql`UPDATE orders SET status = 'CANCELLED' WHERE order_number = 'ORD_PAID'`;
    const other = await adminCli({ DATABASE_URL: copy.url }).run('ledger', 'verify', '--json');
    await copy.drop();
    expect(other.code).toBe(1);
    expect(JSON.parse(other.stdout)).toMatchObject({
      ok: false,
      faults: expect.arrayContaining([
        {
          rule: 'order',
          subject: 'ORD_PAID',
          fault:
            'CANCELLED, 10001 paise, payment pay_ORD_PAID: 1 captured to merchant_held, 0 released, 0 refunded',
        },
      ]),
    });
  });

  test("shows an order's lines", async ({ database }) => {
    const { lines, balances, ...order } = await showLedger(database.sql, 'ORD_REFUNDED');
    expect(order).toMatchObject({ status: 'REFUNDED', amountPaise: 30_000 });
    expect(lines.map(({ operation, from, to }) => [operation, from, to])).toEqual([
      ['capture', 'gateway_clearing', 'merchant_held'],
      ['refund', 'merchant_held', 'refunds'],
    ]);
    expect(balances).toEqual([
      { account: 'gateway_clearing', balancePaise: -30_000 },
      { account: 'merchant_held', balancePaise: 0 },
      { account: 'refunds', balancePaise: 30_000 },
    ]);
    await expect(showLedger(database.sql, 'ORD_NONE')).rejects.toThrow('Order not found: ORD_NONE');
  });
});
