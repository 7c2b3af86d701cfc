import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Alongside, Sql } from '../../src/db/client.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { newCommandId, writeDispute } from '../../src/orders/commands/command-queries.ts';
import { writeMerchant, writePastOrders } from '../dashboard/past-orders.ts';
import { A_BUYER } from '../support/actor.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

const REASON = 'It never arrived';

async function orderIn(sql: Sql, status: OrderStatus) {
  const merchantId = await writeMerchant(sql);
  const orderNumber = `ORD${randomUUID()}`;
  await writePastOrders(sql, merchantId, [{ orderNumber, status, stepNumber: 1 }]);
  return { merchantId, orderNumber };
}

test('what is written beside a command is written if the command is recorded now, and only then', async ({
  database: { serviceSql: sql },
}) => {
  const { orderNumber } = await orderIn(sql, 'PAID');
  const alongside: Alongside = (of, changed) => of`
    INSERT INTO audit_log (actor, action, subject)
    SELECT 'cli:test', 'order.recover', ${orderNumber} FROM ${of(changed)} RETURNING audit_id`;
  const raise = async (commandId: string, mostPerDay: number) => {
    const dispute = { commandId, reason: REASON, actor: A_BUYER, mostPerDay, alongside };
    const { outcome } = await writeDispute(sql, orderNumber, dispute);
    const lines = await sql`SELECT FROM audit_log WHERE subject = ${orderNumber}`;
    return [outcome, lines.length];
  };
  const commandId = newCommandId();
  expect(await raise(commandId, 0)).toEqual(['most_today', 0]);
  expect(await raise(commandId, 9)).toEqual(['recorded', 1]);
  expect(await raise(commandId, 9)).toEqual(['recorded', 1]);
  await sql`UPDATE orders SET status = 'DISPUTE_OPEN' WHERE order_number = ${orderNumber}`;
  expect(await raise(newCommandId(), 9)).toEqual(['not_taken', 1]);
});

test('a dispute whose step is recorded is a repeat, also if a restored database had lost its command', async ({
  database: { serviceSql: sql },
}) => {
  const { merchantId, orderNumber } = await orderIn(sql, 'DISPUTE_OPEN');
  const commandId = newCommandId();
  await sql`
    INSERT INTO order_steps (order_number, step_number, merchant_id, kind, at, status, step, command_id)
    VALUES (${orderNumber}, 1, ${merchantId}, 'DISPUTE_RAISED', now(), 'DISPUTE_OPEN', '{}', ${commandId})`;
  const repeat = await writeDispute(sql, orderNumber, {
    commandId,
    reason: REASON,
    actor: A_BUYER,
  });
  expect(repeat).toMatchObject({ outcome: 'recorded', replayed: true, mismatch: false });
  const rows = await sql`
    SELECT state, waiting_dispute_id FROM order_commands JOIN orders USING (order_number)
    WHERE order_number = ${orderNumber}`;
  expect(rows).toEqual([{ state: 'DONE', waitingDisputeId: null }]);
});
