import { expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import { sealLedgerLines } from '../../src/ledger/seal-ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { alertOnDifferences } from '../../src/payments/reconcile/compare-gateway.ts';
import { writePayout } from '../../src/payments/reconcile/gateway-figures-queries.ts';
import { atRazorpay, madeAtGateway, setSwitches, simulator } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { aMinutePasses } from '../support/seal-ledger.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { csvRows, csvText, indianDay, indianTime, statementOf } from './statement-proof.ts';

const TWO_DAYS_SECONDS = 2 * 86_400;

const test = serviceTest({ time: 'real', callbacks: false });

/** An order of INR 499.50 that was released, and its transfer, which the gateway has not settled. */
async function releasedOrder(service: TestService) {
  const merchant = await service.newMerchant({ webhooks: false });
  const { sandbox } = merchant;
  const order = await sandbox.create();
  await sandbox.help(order, 'pay');
  await sandbox.command(order, 'deliver');
  await sandbox.help(order, 'advance', { seconds: 86_400 });
  await sandbox.untilStatus(order, 'COMPLETED');
  const paymentId = (await sandbox.read(order)).payment?.gateway_payment_id ?? '';
  const [transfer] = await madeAtGateway(service, paymentId, 'transfers');
  return { merchant, orderNumber: order.order_number, paymentId, transferId: transfer?.id ?? '' };
}

/** The gateway settles the payment two days later. */
async function settle(service: TestService, paymentId: string): Promise<void> {
  await setSwitches(service, paymentId, { settlements: 't_plus_2' });
  await simulator(service, 'POST', '/clock', { advanceSeconds: TWO_DAYS_SECONDS });
}

const payoutsOf = (sql: Sql, orderNumber: string) => sql`
  SELECT payout_id, utr FROM transfer_payouts WHERE order_number = ${orderNumber}`;

/** Seals until the day is closed: transactions of other tests may be open. */
const close = ({ sql }: TestService, { sandbox }: Merchant, day: string) =>
  until(async () => {
    await aMinutePasses(sql);
    await sealLedgerLines(sql);
    return (await statementOf(sandbox, day)).closed;
  });

test('a released amount is told to be paid out on the day on which that is learned, and its closed day stays', async ({
  service,
}) => {
  const { merchant, orderNumber, paymentId, transferId } = await releasedOrder(service);
  const { sandbox } = merchant;
  const [{ day }] = await service.sql<[{ day: string }]>`
    SELECT indian_day(booked_at)::text AS day FROM ledger_transfers
    WHERE order_number = ${orderNumber} AND operation = 'release'`;
  await alertOnDifferences(service.deps);
  expect(await payoutsOf(service.sql, orderNumber)).toEqual([]);

  await service.clock.advance(TWO_DAYS_SECONDS * 1000);
  await close(service, merchant, day);
  const read = async () => [
    await statementOf(sandbox, day),
    await csvText(service, merchant, 'sandbox', day),
  ];
  const closed = await read();
  await settle(service, paymentId);
  await Promise.all([alertOnDifferences(service.deps), alertOnDifferences(service.deps)]);
  expect(await alertOnDifferences(service.deps)).toEqual({ differing: 0 });

  const [payout, ...others] = await payoutsOf(service.sql, orderNumber);
  expect(others).toEqual([]);
  const [{ learned }] = await service.sql<[{ learned: string }]>`
    SELECT indian_day(booked_at)::text AS learned FROM transfer_payouts
    WHERE order_number = ${orderNumber}`;
  expect(learned > day).toBe(true);
  const { content, opening_balance, closing_balance } = await statementOf(sandbox, learned);
  expect(content).toMatchObject([
    {
      type: 'paid_out',
      amount: 499.5,
      credit: 0,
      debit: 0,
      order_number: orderNumber,
      gateway_payment_id: paymentId,
      gateway_transfer_id: transferId,
      utr: null,
      gateway_payout_id: payout?.['payoutId'],
      payout_utr: payout?.['utr'],
    },
  ]);
  expect(content[0]?.payout_utr).toMatch(/^utr/);
  expect([opening_balance, closing_balance]).toEqual([0, 0]);
  const rows = await csvRows(service, merchant, 'sandbox', learned);
  expect(rows.map(({ type, payout_utr }) => [type, payout_utr])).toEqual([
    ['opening_balance', ''],
    ['paid_out', payout?.['utr']],
    ['balance_for_now', ''],
  ]);
  expect(await read()).toEqual(closed);
  expect((await verifyLedger(service.sql)).ok).toBe(true);
  await service.clock.set(0);
});

test('the first payout of a transfer counts, and one of another transfer is not recorded', async ({
  service,
}) => {
  const { sql } = service;
  const { orderNumber, paymentId, transferId } = await releasedOrder(service);
  const write = (payoutId: string, ofTransfer = transferId) =>
    writePayout(sql, atRazorpay(paymentId), { transferId: ofTransfer, payoutId, utr: 'utr1' });
  await write('setl_other', 'trf_other');
  expect(await payoutsOf(sql, orderNumber)).toEqual([]);
  await write('setl_1');
  await write('setl_2');
  expect(await payoutsOf(sql, orderNumber)).toEqual([{ payoutId: 'setl_1', utr: 'utr1' }]);
  const refused = sql`UPDATE transfer_payouts SET utr = '' WHERE order_number = ${orderNumber}`;
  await expect(refused).rejects.toThrow();
});

test('a gateway that does not tell the UTR leaves the comparison as it was, which asks again', async ({
  service,
}) => {
  const { orderNumber, paymentId } = await releasedOrder(service);
  await settle(service, paymentId);
  await simulator(service, 'POST', '/faults', { kind: 'error', path: '/v1/transfers' });
  expect(await alertOnDifferences(service.deps)).toEqual({ differing: 0 });
  expect(await payoutsOf(service.sql, orderNumber)).toEqual([]);
  await simulator(service, 'DELETE', '/faults');
  await alertOnDifferences(service.deps);
  expect(await payoutsOf(service.sql, orderNumber)).toHaveLength(1);
});

test('a day is not closed while a payout that was booked on it is not committed', async ({
  service,
}) => {
  const { sql, clock } = service;
  const { merchant, paymentId, transferId } = await releasedOrder(service);
  // In other tests the clock was later.
  await sql`UPDATE ledger_seal SET complete_to = '-infinity', next_to = sealed_to,
    next_at = '-infinity', next_xid = '0'`;
  // Later than the release, also if the tests run at midnight.
  const day = indianDay(-2);
  const held = await sql.reserve();
  await clock.stopAt(indianTime(day, '23:59:59.999'));
  await held`BEGIN`;
  const payout = { transferId, payoutId: 'setl_late', utr: 'utr-late' };
  await writePayout(held, atRazorpay(paymentId), payout);
  await clock.stopAt(indianTime(indianDay(-3), '00:06'));
  for (let run = 0; run < 4; run += 1) {
    await aMinutePasses(sql);
    await sealLedgerLines(sql);
  }
  expect(await statementOf(merchant.sandbox, day)).toMatchObject({ content: [], closed: false });
  await held`COMMIT`;
  held.release();
  await close(service, merchant, day);
  expect((await statementOf(merchant.sandbox, day)).content).toMatchObject([
    { type: 'paid_out', payout_utr: 'utr-late' },
  ]);
  await clock.set(0);
});
