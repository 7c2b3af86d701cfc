import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import { REFUSALS } from '../../src/domain/index.ts';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import { untilBlocked } from '../support/locks.ts';
import type { CommandBody } from '../../src/orders/rows.ts';
import type { DirectOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { TEST_ACTOR } from '../support/actor.ts';

const ANSWER_MS = 72 * 3_600_000;
const PAST_THE_DEADLINE_MS = ANSWER_MS + 1000;

const test = serviceTest({ time: 'skipping', merchant: { webhooks: false } });

/** Sets the database's clock to Temporal's and lets it run again. */
test.beforeEach(({ service }) => service.skip(1));

const ANSWERS = {
  submitEvidence: { text: 'Signed for' },
  resolve: { resolution: 'A new one' },
  accept: {},
  decide: { for: 'merchant' },
} as const;

/** The API has written an answer and died before it notified the workflow. */
async function writeOnly(
  sql: Sql,
  { orderNumber }: DirectOrder,
  name: keyof typeof ANSWERS,
  body: CommandBody = ANSWERS[name],
) {
  const commandId = `cmd_${randomUUID()}`;
  const origin = { actor: TEST_ACTOR, reason: 'An answer' };
  await writeCommand(sql, { orderNumber, commandId, name, body, origin });
  return commandId;
}

const stateOf = async ({ sql }: TestService, commandId: string) =>
  (
    await sql<{ state: string }[]>`SELECT state FROM order_commands WHERE command_id = ${commandId}`
  )[0]?.state;

const commandsOf = ({ sql }: TestService, { orderNumber }: DirectOrder) =>
  sql<{ tryNumber: number; state: string; body: object }[]>`
    SELECT try_number, state, body FROM order_commands
    WHERE order_number = ${orderNumber} AND name = 'resolve' ORDER BY try_number`;

/** Why the order is or was refunded. */
const refundReason = async (order: DirectOrder) => (await order.row()).refundReason;

test.for([
  ['submitEvidence', {}, 'EVIDENCE_SUBMITTED', null],
  ['resolve', {}, 'DISPUTE_RESOLVED', null],
  ['accept', {}, 'REFUND_STARTED', 'dispute_accepted'],
  ['decide', { for: 'merchant' }, 'DISPUTE_RESOLVED', null],
  ['decide', { for: 'buyer' }, 'REFUND_STARTED', 'dispute_decided_for_buyer'],
] as const)(
  'an answer or a decision in time counts, even if the workflow learns of it only at the deadline: %s %j',
  async ([name, body, step, reason], { service, orders }) => {
    const order = await orders.in('DISPUTE_OPEN');
    const commandId = await writeOnly(service.sql, order, name, { ...ANSWERS[name], ...body });
    await service.skip(PAST_THE_DEADLINE_MS);
    await order.untilStep(step);
    expect(await stateOf(service, commandId)).toBe('DONE');
    expect(await refundReason(order)).toBe(reason);
  },
);

test('an answer whose row is being written when the deadline is handled counts', async ({
  service,
  orders,
}) => {
  const order = await orders.in('DISPUTE_OPEN');
  const { commandId, skipping } = await service.sql.begin(async (session) => {
    const written = await writeOnly(session as unknown as Sql, order, 'resolve');
    const skipped = service.skip(PAST_THE_DEADLINE_MS);
    skipped.catch(() => undefined);
    await untilBlocked(service, 'record_step');
    return { commandId: written, skipping: skipped };
  });
  await skipping;
  await order.untilStep('DISPUTE_RESOLVED');
  expect(await stateOf(service, commandId)).toBe('DONE');
  expect(await refundReason(order)).toBeNull();
});

test('an answer received after the deadline does not count', async ({ service, orders }) => {
  const order = await orders.in('DISPUTE_OPEN');
  const { disputeRespondBy } = await order.row();
  await service.clock.stopAt(new Date(disputeRespondBy!.getTime() + 1000));
  const commandId = await writeOnly(service.sql, order, 'resolve');
  await service.temporal.skip(PAST_THE_DEADLINE_MS);
  await order.untilStatus('REFUNDED');
  expect(await refundReason(order)).toBe('dispute_not_resolved_in_time');
  expect(await stateOf(service, commandId)).toBe('WAITING');
});

test('an answer that is illegal blocks nothing', async ({ service, orders }) => {
  const order = await orders.in('DISPUTE_UNDER_REVIEW');
  await writeOnly(service.sql, order, 'submitEvidence');
  await service.skip(PAST_THE_DEADLINE_MS);
  await order.untilStatus('REFUNDED');
  expect(await refundReason(order)).toBe('dispute_not_resolved_in_time');
});

test.for([
  ['submitEvidence', {}, REFUSALS.submitEvidence],
  ['resolve', {}, REFUSALS.resolve],
  ['accept', {}, REFUSALS.accept],
  ['decide', { for: 'merchant' }, REFUSALS.decideForMerchant],
  ['decide', { for: 'buyer' }, REFUSALS.decideForBuyer],
] as const)(
  'an answer or a decision that was given for an earlier dispute is refused: %s %j',
  async ([name, body, refusal], { service, orders }) => {
    const order = await orders.in('DISPUTE_OPEN');
    const commandId = await writeOnly(service.sql, order, name, { ...ANSWERS[name], ...body });
    await order.update('resolve');
    await order.update('dispute');
    expect(await order.refusalOfBare(name, { ...body, commandId })).toBe(
      `${refusal}; it was asked for before the dispute was raised`,
    );
    expect(await order.row()).toMatchObject({ status: 'DISPUTE_OPEN', pendingOperation: null });
  },
);

test('an answer to an earlier dispute does not count', async ({ service, orders }) => {
  const order = await orders.in('DISPUTE_OPEN');
  await writeOnly(service.sql, order, 'submitEvidence');
  await order.update('resolve');
  await order.update('dispute');
  await service.skip(PAST_THE_DEADLINE_MS);
  await order.untilStatus('REFUNDED');
  expect(await refundReason(order)).toBe('dispute_not_resolved_in_time');
});

test('a repeat of a refused command is a command of its own, with its own body', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('PAID');
  const key = { 'Idempotency-Key': randomUUID() };
  const resolve = (resolution: string) =>
    merchant.sandbox.post(`/orders/${order.orderNumber}/dispute/resolve`, { resolution }, key);
  expect((await resolve('Too early')).status).toBe(400);
  await order.update('dispute');
  const { status, headers, body } = await resolve('A new one is on its way');
  expect([status, body.data.dispute?.resolution]).toEqual([200, 'A new one is on its way']);
  expect(headers.get('Idempotent-Replayed')).toBeNull();
  expect(headers.get('Idempotency-Key-Mismatch')).toBeNull();
  const repeated = await resolve('A new one is on its way');
  expect(repeated.headers.get('Idempotent-Replayed')).toBe('true');
  expect(await commandsOf(service, order)).toEqual([
    { tryNumber: 0, state: 'REFUSED', body: { resolution: 'Too early' } },
    { tryNumber: 1, state: 'DONE', body: { resolution: 'A new one is on its way' } },
  ]);
});
