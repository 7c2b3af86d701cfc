import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { OrderMessageName } from '../../src/contracts/order-workflow.ts';
import type { CommandType } from '../../src/domain/index.ts';
import { REFUSALS } from '../../src/domain/index.ts';
import { decideDispute, refundForMerchant } from '../../src/orders/commands/operator-commands.ts';
import type { Sql } from '../../src/db/client.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import { CLOSING } from '../support/gateway.ts';
import { untilBlocked } from '../support/locks.ts';
import { operatorOf } from '../support/operator-of.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { rowsWithout } from './messages.ts';

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

const refused = (type: CommandType) =>
  `${REFUSALS[type]}; no recorded command says who asks for it`;

/** Where a person does what is refused, if not with the API. */
const ELSEWHERE: Partial<Record<OrderMessageName, string>> = {
  refund: "Cannot refund from here; use the order's page in the operators' dashboard",
  accept:
    'Cannot accept from here; the merchant does it through the API, an operator with admin dispute decide',
  decide: 'Cannot decide from here; use admin dispute decide',
  settle: 'Cannot settle from here; use admin order settle',
};
/** Each message that needs a row, where it fits, sent without one, and its refusal. */
const BARE = rowsWithout('pay').map(({ from, name, message, type }) => {
  return [from, name, message, ELSEWHERE[name] ?? refused(type)] as const;
});

describe('a message sent from the Temporal UI', () => {
  test.for(BARE)(
    '%s · %s %o is refused: %s',
    async ([status, name, message, words], { orders }) => {
      const order = await orders.in(status);
      const before = await order.row();
      expect(await order.refusalOfBare(name, message)).toBe(words);
      // An id without a row does not authorise it either.
      const commandId = `cmd_${randomUUID()}`;
      expect(await order.refusalOfBare(name, { ...message, commandId })).toBe(words);
      expect(await order.row()).toEqual(before);
      await order.handle.signal(name, message);
      // The next message is handled after it was dropped.
      await order.update('advance', { seconds: 1 });
      expect(await order.row()).toMatchObject({ status, pendingOperation: null });
      expect((await order.kinds()).at(-1)).toBe('CLOCK_ADVANCED');
    },
  );

  test('a cancel without a row closes no payment session', async ({ orders }) => {
    const { order_number } = await orders.beingPaid();
    const order = await orders.workflowOf({ order_number });
    const before = await order.row();
    for (const message of [{}, { commandId: `cmd_${randomUUID()}` }]) {
      expect(await order.refusalOfBare('cancel', message)).toBe(refused('cancel'));
    }
    expect(await order.row()).toEqual(before);
  });

  test('a failed payment without a row is refused while a cancel, which has one, closes the session', async ({
    orders,
    gateway,
  }) => {
    const { order_number, cancel } = await orders.beingPaid();
    const order = await orders.workflowOf({ order_number });
    const { endFault } = await gateway.addFault({ kind: 'held', path: CLOSING });
    const cancelling = cancel();
    await order.untilStep('CLOSING_PAYMENT');
    expect(await order.refusalOfBare('failPayment')).toBe(refused('failPayment'));
    await endFault();
    await cancelling;
    expect(await order.kinds()).not.toContain('PAYMENT_FAILED');
  });

  test('a command without a name is not recorded, and one of another order is refused', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('PAID');
    const other = await orders.in('PAID');
    const anonymous = `cmd_${randomUUID()}`;
    const written = service.sql`
      INSERT INTO order_commands (order_number, command_id, name, body, reason)
      VALUES (${order.orderNumber}, ${anonymous}, 'refund', '{}', 'Why not')`;
    await expect(written).rejects.toThrow('null value in column "actor"');
    const foreign = `cmd_${randomUUID()}`;
    const origin = { actor: TEST_ACTOR, reason: 'Sold out' };
    await writeCommand(service.sql, {
      orderNumber: other.orderNumber,
      commandId: foreign,
      name: 'refund',
      body: {},
      origin,
    });
    for (const commandId of [anonymous, foreign]) {
      expect(await order.refusalOfBare('refund', { commandId })).toBe(ELSEWHERE.refund);
    }
    expect(await order.row()).toMatchObject({ status: 'PAID', pendingOperation: null });
  });
});

describe('the row of another command of the order authorises nothing', () => {
  test.for([
    ['refund', 'PAID', {}, { name: 'failPayment', body: {}, state: 'DONE' }],
    ['refund', 'PAID', {}, { name: 'refund', body: {}, state: 'DONE' }],
    ['accept', 'DISPUTE_OPEN', {}, { name: 'resolve', body: {} }],
    ['decide', 'DISPUTE_OPEN', { for: 'buyer' }, { name: 'decide', body: { for: 'merchant' } }],
  ] as const)('%s in %s %o with %o', async ([name, status, message, row], { service, orders }) => {
    const order = await orders.in(status);
    const { orderNumber } = order;
    const commandId = `cmd_${randomUUID()}`;
    const origin = { actor: TEST_ACTOR, reason: 'Something else' };
    await writeCommand(service.sql, { orderNumber, commandId, origin, ...row });
    expect(await order.refusalOfBare(name, { ...message, commandId })).toBe(ELSEWHERE[name]);
    expect(await order.row()).toMatchObject({ status, pendingOperation: null });
  });
});

test('a payment session that opens between the read and the step of a cancel is closed first', async ({
  service,
  orders,
}) => {
  const { order_number, cancel } = await orders.beingPaid();
  const order = await orders.workflowOf({ order_number });
  const { openSessionId } = await order.row();
  const setSession = (sql: Sql, id: string | null) =>
    sql`UPDATE orders SET open_session_id = ${id} WHERE order_number = ${order_number}`;
  await setSession(service.sql, null);
  const { answer } = await service.sql.begin(async (sql) => {
    await setSession(sql as unknown as Sql, openSessionId);
    const asked = cancel();
    await untilBlocked(service, 'record_step');
    return { answer: asked };
  });
  expect((await answer).status).toBe(200);
  expect(await order.kinds()).toEqual(['ORDER_CREATED', 'CLOSING_PAYMENT', 'ORDER_CANCELLED']);
});

/** What the audit list has of an order's commands, oldest first. */
const linesOf = async ({ sql }: TestService, orderNumber: string) =>
  (await listAudit(sql, { orderNumber }, 100)).entries
    .filter(({ actor, outcome }) => actor !== TEST_ACTOR.name && outcome !== null)
    .map(({ actor, address, action, outcome, reason }) => ({
      actor,
      address,
      action,
      outcome,
      reason,
    }))
    .toReversed();

describe('the row of a command is its one line in the audit list', () => {
  test('the merchant through the API', async ({ service, merchant, orders }) => {
    const by = { actor: `key:${merchant.keys.sandbox.apiKey}`, address: '127.0.0.1' };
    const disputed = await orders.in('DISPUTE_OPEN');
    await merchant.sandbox.post(`/orders/${disputed.orderNumber}/dispute/accept`);
    await disputed.untilStatus('REFUNDED');
    expect(await linesOf(service, disputed.orderNumber)).toEqual([
      { ...by, action: 'dispute.accept', outcome: 'DONE', reason: 'Asked for by the merchant' },
    ]);
    const paid = await orders.in('PAID');
    const reason = 'Sold out';
    await merchant.sandbox.post(`/orders/${paid.orderNumber}/refund`, { reason });
    await paid.untilStatus('REFUNDED');
    expect(await linesOf(service, paid.orderNumber)).toEqual([
      { ...by, action: 'order.refund', outcome: 'DONE', reason },
    ]);
  });

  test('an operator through admin', async ({ service, orders }) => {
    const operator = operatorOf(service, { name: 'cli:asha', address: '203.0.113.7' });
    const disputed = await orders.in('DISPUTE_UNDER_REVIEW');
    const decision = { winner: 'buyer', reason: 'The parcel was empty' } as const;
    await decideDispute(operator, disputed.orderNumber, decision);
    await disputed.untilStatus('REFUNDED');
    const paid = await orders.in('PAID');
    await orders.suspendMerchant();
    await refundForMerchant(operator, paid.orderNumber, 'The shop has closed');
    await paid.untilStatus('REFUNDED');
    const by = { actor: 'cli:asha', address: '203.0.113.7', outcome: 'DONE' };
    expect(await linesOf(service, disputed.orderNumber)).toEqual([
      { ...by, action: 'dispute.decide', reason: 'The parcel was empty' },
    ]);
    expect(await linesOf(service, paid.orderNumber)).toEqual([
      { ...by, action: 'order.refund', reason: 'The shop has closed' },
    ]);
  });
});
