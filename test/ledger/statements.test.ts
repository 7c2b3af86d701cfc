import { expect } from 'vitest';
import { backUp } from '../support/backup.ts';
import { sealLedgerLines } from '../../src/ledger/seal-ledger.ts';
import { madeAtGateway } from '../support/gateway.ts';
import { aMinutePasses } from '../support/seal-ledger.ts';
import { serviceTest } from '../support/service-test.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { payOnce, writeRandomMoney } from './random-money.ts';
import {
  csvRows,
  csvText,
  indianDay,
  indianTime,
  proveStatements,
  statementOf,
  wholeStatement,
} from './statement-proof.ts';

const DAY_MS = 86_400_000;

const test = serviceTest({ time: 'real', callbacks: false });

/** The lines of an order in the statements of the days on which they were booked. */
async function linesOf({ sql }: TestService, { sandbox }: Merchant, orderNumber: string) {
  const days = await sql<{ day: string }[]>`
    SELECT DISTINCT indian_day(booked_at)::text AS day FROM ledger_transfers
    WHERE order_number = ${orderNumber} ORDER BY day`;
  const statements = await Promise.all(days.map(({ day }) => wholeStatement(sandbox, day)));
  return statements.flatMap(({ lines }) =>
    lines.filter(({ order_number }) => order_number === orderNumber),
  );
}

/** What the Schedule does in several minutes. */
async function seal({ sql }: TestService, runs = 2): Promise<void> {
  for (let run = 0; run < runs; run += 1) {
    await aMinutePasses(sql);
    await sealLedgerLines(sql);
  }
}

/** As if no day had ever been closed: in other tests the clock was later. */
const forgetClosedDays = ({ sql }: TestService) => sql`
  UPDATE ledger_seal SET complete_to = '-infinity', next_to = sealed_to, next_at = '-infinity',
    next_xid = '0'`;

test('every day of random orders is what the gateway has made, to the paisa', ({ service }) =>
  proveStatements(service, 300));

test('pages of any size have each line once, and the balances of the whole day', async ({
  service,
}) => {
  const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
  await writeRandomMoney(service, [merchantId], { count: 60, first: indianDay(1), days: 1 });
  const whole = await wholeStatement(sandbox, indianDay(1));
  expect(whole.lines.length).toBeGreaterThan(30);
  for (const size of [1, 7, whole.lines.length]) {
    expect(await wholeStatement(sandbox, indianDay(1), size)).toEqual(whole);
  }
});

test('a day without money has its balances, also before the first one', async ({ service }) => {
  const { merchantId, sandbox, production } = await service.newMerchant({ webhooks: false });
  const { amountPaise } = await payOnce(service, merchantId, indianTime(indianDay(3), '12:00'));
  const balance = amountPaise / 100;
  const empty = { content: [], next: null };
  const before = await statementOf(sandbox, '0001-01-01');
  expect(before).toMatchObject({ ...empty, opening_balance: 0, closing_balance: 0 });
  const paid = await statementOf(sandbox, indianDay(3));
  expect(paid).toMatchObject({ opening_balance: 0, closing_balance: balance });
  const after = await statementOf(sandbox, indianDay(0));
  expect(after).toMatchObject({ opening_balance: balance, closing_balance: balance });
  expect(await statementOf(production, indianDay(3))).toMatchObject({
    ...empty,
    closing_balance: 0,
  });
  const other = await service.newMerchant({ webhooks: false });
  expect(await statementOf(other.sandbox, indianDay(3))).toMatchObject(empty);
});

test('a day to come is not found, and what is no day is refused', async ({ service, merchant }) => {
  const { sandbox } = merchant;
  const dayToCome = indianDay(-2);
  const { status, body } = await sandbox.get(`/statements/${dayToCome}`);
  expect([status, body.message]).toEqual([404, `${dayToCome} has not begun in India`]);
  await expect(csvText(service, merchant, 'sandbox', dayToCome)).rejects.toThrow('404');
  for (const date of ['2026-02-29', '2026-2-1', 'today', '0000-01-01', '20261120']) {
    const wrong = await sandbox.get(`/statements/${date}`);
    expect([wrong.status, wrong.body.validationErrors]).toEqual([
      400,
      { date: 'must be a day such as 2026-11-20' },
    ]);
  }
  for (const [query, field] of [
    ['size=0', 'size'],
    ['size=101', 'size'],
    ['after=x', 'after'],
  ]) {
    const wrong = await sandbox.get(`/statements/2026-11-20?${query}`);
    expect([wrong.status, Object.keys(wrong.body.validationErrors ?? {})]).toEqual([400, [field]]);
  }
});

test('a day is closed once every transaction that began before midnight has ended', async ({
  service,
}) => {
  const { sql, clock } = service;
  const { merchantId, sandbox } = await service.newMerchant({ webhooks: false });
  await forgetClosedDays(service);
  const day = indianDay(1);
  const held = await sql.reserve();
  await held`BEGIN`;
  const late = await payOnce(service, merchantId, indianTime(day, '23:59:59.999'), held);
  const early = await payOnce(service, merchantId, indianTime(indianDay(0), '00:00'));
  await clock.stopAt(indianTime(indianDay(0), '00:06'));
  await seal(service, 4);
  expect(await statementOf(sandbox, day)).toMatchObject({ content: [], closed: false });
  await held`COMMIT`;
  held.release();
  await until(async () => {
    await seal(service);
    return (await statementOf(sandbox, day)).closed;
  });
  const orders = async (ofDay: string) =>
    (await statementOf(sandbox, ofDay)).content.map(({ order_number }) => order_number);
  expect(await orders(day)).toEqual([late.orderNumber]);
  await clock.set(0);
  expect(await orders(indianDay(0))).toEqual([early.orderNumber]);
  expect((await statementOf(sandbox, indianDay(0))).closed).toBe(false);
});

test('a day that is over is not closed before its transactions can have ended', async ({
  service,
}) => {
  const { sandbox } = await service.newMerchant({ webhooks: false });
  const { clock, sql } = service;
  await forgetClosedDays(service);
  await clock.stopAt(indianTime(indianDay(0), '00:00:59.999'));
  await sealLedgerLines(sql);
  await clock.stopAt(indianTime(indianDay(0), '00:05'));
  await until(async () => {
    await sealLedgerLines(sql);
    return (await statementOf(sandbox, indianDay(2))).closed;
  });
  expect((await statementOf(sandbox, indianDay(1))).closed).toBe(false);
  await clock.set(0);
});

test('a closed day never changes, while more is written and sealed', async ({ service }) => {
  const merchant = await service.newMerchant({ webhooks: false });
  const { merchantId, sandbox } = merchant;
  const day = indianDay(2);
  await writeRandomMoney(service, [merchantId], { count: 40, first: day, days: 1 });
  await until(async () => {
    await seal(service);
    return (await statementOf(sandbox, day)).closed;
  });
  const read = async () => [
    JSON.stringify(await wholeStatement(sandbox, day)),
    await csvText(service, merchant, 'sandbox', day),
  ];
  const closed = await read();
  // Reversals and failed refunds of the same payments are booked later.
  await writeRandomMoney(service, [merchantId], { count: 40, first: indianDay(1), days: 2 });
  expect(await read()).toEqual(closed);
  await seal(service, 4);
  expect(await read()).toEqual(closed);
});

test('the CSV of a day that is not closed says so, and adds up', async ({ service }) => {
  const merchant = await service.newMerchant({ webhooks: false });
  await payOnce(service, merchant.merchantId, indianTime(indianDay(1), '12:00'));
  const { amountPaise } = await payOnce(
    service,
    merchant.merchantId,
    indianTime(indianDay(0), '00:00'),
  );
  const rows = await csvRows(service, merchant, 'sandbox', indianDay(0));
  expect(rows.map(({ type }) => type)).toEqual(['opening_balance', 'paid', 'balance_for_now']);
  const [opening, paid, now] = rows.map(({ amount }) => Math.round(Number(amount) * 100));
  expect([paid, now]).toEqual([amountPaise, (opening ?? 0) + amountPaise]);
});

test('lines name the transfer and the refund at the gateway', async ({ service, merchant }) => {
  const { sandbox } = merchant;
  const released = await sandbox.create();
  const refunded = await sandbox.create({ merchantOrderId: 'shop-7' });
  for (const order of [released, refunded]) await sandbox.help(order, 'pay');
  await sandbox.command(released, 'deliver');
  await sandbox.help(released, 'advance', { seconds: 86_400 });
  await sandbox.command(refunded, 'refund', { reason: 'Sold out' });
  await sandbox.untilStatus(released, 'COMPLETED');
  await sandbox.untilStatus(refunded, 'REFUNDED');
  const idsOf = async (order: typeof released, what: 'refunds' | 'transfers') => {
    const paymentId = (await sandbox.read(order)).payment?.gateway_payment_id ?? '';
    return (await madeAtGateway(service, paymentId, what)).map(({ id }) => id);
  };
  const none = { gateway_transfer_id: null, gateway_refund_id: null, gateway_chargeback_id: null };
  const { utr = null } = (await sandbox.read(released)).payment ?? {};
  expect(await linesOf(service, merchant, released.order_number)).toMatchObject([
    { type: 'paid', amount: 499.5, credit: 499.5, debit: 0, ...none, utr },
    {
      type: 'released',
      debit: 499.5,
      ...none,
      gateway_transfer_id: (await idsOf(released, 'transfers'))[0],
      utr: null,
    },
  ]);
  expect(await linesOf(service, merchant, refunded.order_number)).toMatchObject([
    { type: 'paid', merchant_order_id: 'shop-7' },
    { type: 'refunded', ...none, gateway_refund_id: (await idsOf(refunded, 'refunds'))[0] },
  ]);
});

test('what is written again after a restore is booked on the day of writing', async ({
  service,
  merchant,
  cli,
}) => {
  const { sandbox } = merchant;
  const order = await sandbox.create();
  await sandbox.help(order, 'pay');
  const restore = await backUp(service, order.order_number);
  await sandbox.command(order, 'deliver');
  await sandbox.help(order, 'advance', { seconds: 86_400 });
  await sandbox.untilStatus(order, 'COMPLETED');
  const [paid, released] = await linesOf(service, merchant, order.order_number);
  await restore();
  await service.clock.advance(DAY_MS);
  expect((await cli.run('order', 'recover', '--order', order.order_number)).code).toBe(0);
  await sandbox.untilStatus(order, 'COMPLETED');
  const [first, again] = await linesOf(service, merchant, order.order_number);
  expect(first).toEqual(paid);
  // Then it happened when the step was recorded, and before when the gateway had moved the money.
  const [step] = await service.sql<{ at: Date }[]>`
    SELECT at FROM order_steps WHERE order_number = ${order.order_number} AND kind = 'ORDER_COMPLETED'`;
  expect(again).toMatchObject({ type: 'released', happened_at: step?.at.toISOString() });
  expect(Date.parse(released?.happened_at ?? '')).toBeLessThanOrEqual(
    Date.parse(released?.booked_at ?? ''),
  );
  const laterMs = Date.parse(again?.booked_at ?? '') - Date.parse(released?.booked_at ?? '');
  expect(laterMs).toBeGreaterThan(DAY_MS);
  await service.clock.set(0);
});
