import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import type { Command, CommandType, OrderState } from '../../src/domain/index.ts';
import { decide } from '../../src/domain/index.ts';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import { readDisputes } from '../../src/orders/steps/disputes.ts';
import { findOrderByNumber } from '../../src/orders/find-order.ts';
import { listDisputes } from '../../src/orders/lists/list-disputes.ts';
import { createOrderPresenter } from '../../src/orders/presenter.ts';
import { createStepRecorder } from '../../src/orders/steps/record-step.ts';
import { writeMerchant, writePastOrders } from '../dashboard/past-orders.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

const present = createOrderPresenter('https://pay.example');
const AT_MS = Date.UTC(2026, 10, 24, 12);
const RESPOND_BY_MS = 3_600_000;
const at = (second: number) => new Date(AT_MS + second * 1000);

interface Given {
  body?: Record<string, string>;
  actor?: string;
}

/** A delivered order, whose steps the test records; each is a second later than the one before. */
async function deliveredOrder(sql: Sql, isRewritten = false) {
  const merchantId = await writeMerchant(sql);
  const orderNumber = `ORD${randomUUID()}`;
  await writePastOrders(sql, merchantId, [{ orderNumber, status: 'DELIVERED' }]);
  const recordStep = createStepRecorder({ sql, present, firstAttempt: { wakeAfterMs: 0 } });
  let state: OrderState = {
    terms: { environment: 'sandbox', completionWindowMs: 1000, disputeAnswerMs: RESPOND_BY_MS },
    status: 'DELIVERED',
    pendingOperation: null,
    deadline: { kind: 'completion', atMs: AT_MS + 1_000_000 },
    disputeCount: 0,
    stepNumber: 1,
    eventSequence: 1,
  };
  return {
    merchantId,
    orderNumber,
    async record(command: Command, { body, actor }: Given = {}) {
      const nowMs = at(state.stepNumber).getTime();
      const decision = decide(state, command, nowMs);
      if (decision.outcome === 'refused') throw decision.error;
      const isSettlement = command.type.startsWith('settle');
      const commandId = isSettlement ? `settle:${orderNumber}` : `cmd_${state.stepNumber}`;
      const origin = { actor: { name: actor ?? 'buyer', address: null }, reason: 'R' };
      if (body) await writeCommand(sql, { orderNumber, commandId, name: 'resolve', body, origin });
      const { step } = decision;
      const result = await recordStep({ orderNumber, step, commandId, isRewritten });
      expect(result.outcome).toBe('recorded');
      ({ state } = decision);
    },
    disputes: () => readDisputes(sql, orderNumber),
    /** The latest dispute as the API shows it. */
    async shown() {
      const { dispute, dispute_count } = present(await findOrderByNumber(sql, orderNumber));
      return { ...dispute, count: dispute_count };
    },
  };
}

const DISPUTE: Command = { type: 'dispute', receivedAtMs: AT_MS };
const NOT_ENDED = { endedAt: null, ending: null, resolution: null, decision: null };

test('a dispute is recorded with what each side says, and ends once', async ({
  database: { serviceSql: sql },
}) => {
  const order = await deliveredOrder(sql);
  await order.record(DISPUTE, { body: { reason: 'It never came' } });
  const raised = {
    number: 1,
    raisedAt: at(1),
    raisedBy: 'buyer',
    reason: 'It never came',
    evidenceAt: null,
    evidence: null,
    ...NOT_ENDED,
  };
  expect(await order.disputes()).toEqual([raised]);
  await order.record({ type: 'submitEvidence' }, { body: { text: 'A signature' } });
  const answered = { ...raised, evidenceAt: at(2), evidence: 'A signature' };
  expect(await order.disputes()).toEqual([answered]);
  expect(await order.shown()).toMatchObject({
    evidence: 'A signature',
    respond_by: at(2 + RESPOND_BY_MS / 1000).toISOString(),
    ended_at: null,
  });
  await order.record({ type: 'advance', seconds: 60 });
  expect(await order.shown()).toMatchObject({
    respond_by: at(2 + RESPOND_BY_MS / 1000 - 60).toISOString(),
  });
  await order.record({ type: 'resolve' }, { body: { resolution: 'It was found' } });
  const ended = { endedAt: at(4), ending: 'resolved_by_merchant', resolution: 'It was found' };
  expect(await order.disputes()).toEqual([{ ...answered, ...ended }]);
  await order.record({ type: 'refund' }, { body: { reason: 'No stock' }, actor: 'cli:asha' });
  await order.record({ type: 'refunded' });
  expect(await order.disputes()).toEqual([{ ...answered, ...ended }]);
});

const REFUND = ['refunded'] as const;
const DECISION = { reason: 'The courier has a signature' };
const by = (winner: string) => ({ for: winner, reason: DECISION.reason, actor: 'cli:asha' });

test.for<[string, readonly CommandType[], object]>([
  ['resolved_by_merchant', ['resolve'], { resolution: 'Sent again', decision: null }],
  ['decided_for_merchant', ['decideForMerchant'], { resolution: null, decision: by('merchant') }],
  ['decided_for_buyer', ['decideForBuyer', ...REFUND], { decision: by('buyer') }],
  ['accepted_by_merchant', ['accept', ...REFUND], { decision: null }],
  ['not_resolved_in_time', ['expire', ...REFUND], { decision: null }],
  ['settled_by_operator', ['settleReleased'], { decision: null }],
  ['settled_by_operator', ['settleRefunded'], { decision: null }],
  // The refund that has begun decides how the dispute ends, even if an operator then settles the order.
  ['decided_for_buyer', ['decideForBuyer', 'settleReleased'], { decision: by('buyer') }],
])('a dispute ends as %s by %j', async ([ending, commands, texts], { database }) => {
  const order = await deliveredOrder(database.serviceSql);
  await order.record(DISPUTE, { body: { reason: 'It never came' } });
  await order.record({ type: 'submitEvidence' }, { body: { text: 'A signature' } });
  if (commands[0] === 'expire') await order.record({ type: 'advance', seconds: 7200 });
  const body = { resolution: 'Sent again', ...DECISION };
  for (const type of commands) {
    const [before] = await order.disputes();
    expect(before?.endedAt).toBeNull();
    await order.record({ type } as Command, { body, actor: 'cli:asha' });
  }
  const [dispute] = await order.disputes();
  expect(dispute).toMatchObject({ number: 1, ending, endedAt: expect.any(Date), ...texts });
  expect(await order.shown()).toMatchObject({
    respond_by: null,
    ended_at: dispute?.endedAt?.toISOString(),
    resolution: dispute?.resolution,
  });
});

test('a second dispute begins empty, and the first one stays as it ended', async ({
  database: { serviceSql: sql },
}) => {
  const order = await deliveredOrder(sql);
  const owner = { merchantId: order.merchantId, environment: 'sandbox' } as const;
  const listed = async () => {
    const [running, ended] = await Promise.all([
      listDisputes(sql, owner, 'running', { skip: 0, limit: 10 }),
      listDisputes(sql, owner, 'ended', { skip: 0, limit: 10 }),
    ]);
    return [running.rows.length, ended.rows.length];
  };
  await order.record(DISPUTE, { body: { reason: 'It never came' } });
  await order.record({ type: 'submitEvidence' }, { body: { text: 'A signature' } });
  await order.record({ type: 'decideForMerchant' }, { body: DECISION, actor: 'cli:asha' });
  expect(await listed()).toEqual([0, 1]);
  const [first] = await order.disputes();
  await order.record(DISPUTE, { body: { reason: 'It is broken' }, actor: 'cli:ravi' });
  expect(await order.disputes()).toEqual([
    first,
    {
      number: 2,
      raisedAt: at(4),
      raisedBy: 'cli:ravi',
      reason: 'It is broken',
      evidenceAt: null,
      evidence: null,
      ...NOT_ENDED,
    },
  ]);
  expect(await order.shown()).toEqual({
    count: 2,
    reason: 'It is broken',
    raised_at: at(4).toISOString(),
    respond_by: at(4 + RESPOND_BY_MS / 1000).toISOString(),
    evidence: null,
    resolution: null,
    decision: null,
    ended_at: null,
  });
  // The webhook has the same bytes: it was presented before the row was written.
  const [event] = await sql<{ body: string }[]>`
    SELECT body FROM order_events WHERE order_number = ${order.orderNumber}
    ORDER BY sequence DESC LIMIT 1`;
  const { count, ...dispute } = await order.shown();
  const sent = JSON.parse(event?.body ?? '');
  expect(sent).toMatchObject({ event: 'DISPUTE_RAISED', data: { dispute_count: count } });
  expect(sent.data.dispute).toEqual(dispute);
  // Each order is listed once, by its latest dispute.
  expect(await listed()).toEqual([1, 0]);
});

test('the disputes of lost steps are written again, without the texts that are lost', async ({
  database: { serviceSql: sql },
}) => {
  const order = await deliveredOrder(sql, true);
  await order.record(DISPUTE);
  await order.record({ type: 'submitEvidence' });
  await order.record({ type: 'resolve' });
  await order.record(DISPUTE);
  await order.record({ type: 'submitEvidence' });
  await order.record({ type: 'decideForBuyer' });
  const raised = { raisedBy: 'buyer', reason: '', evidence: '' };
  expect(await order.disputes()).toEqual([
    {
      ...raised,
      number: 1,
      raisedAt: at(1),
      evidenceAt: at(2),
      endedAt: at(3),
      ending: 'resolved_by_merchant',
      resolution: null,
      decision: null,
    },
    {
      ...raised,
      number: 2,
      raisedAt: at(4),
      evidenceAt: at(5),
      endedAt: null,
      ending: 'decided_for_buyer',
      resolution: null,
      decision: { for: 'buyer', reason: '', actor: null },
    },
  ]);
});

test('a dispute of an erased order takes no text', async ({ database: { sql } }) => {
  const order = await deliveredOrder(sql);
  await order.record(DISPUTE, { body: { reason: 'It never came' } });
  await sql`UPDATE disputes SET reason = NULL WHERE order_number = ${order.orderNumber}`;
  await sql`
    UPDATE orders SET buyer_email = '', buyer_phone = '', buyer_name = '', description = '',
      erased_at = now() WHERE order_number = ${order.orderNumber}`;
  for (const column of ['reason', 'evidence', 'resolution', 'decision_reason']) {
    await expect(
      sql`UPDATE disputes SET ${sql({ [column]: 'A text' })} WHERE order_number = ${order.orderNumber}`,
    ).rejects.toThrow('was erased');
  }
  await sql`UPDATE disputes SET ended_at = now() WHERE order_number = ${order.orderNumber}`;
});

test('the view of orders with their latest dispute has every column of an order', async ({
  database: { sql },
}) => {
  const columnsOf = async (table: string) => {
    const { columns } = await sql`SELECT * FROM ${sql(table)} LIMIT 0`;
    return columns.map(({ name }) => name);
  };
  const inView = await columnsOf('orders_with_dispute');
  expect(inView).toEqual(expect.arrayContaining(await columnsOf('orders')));
});
