import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { OrderMessageName } from '../../src/contracts/order-workflow.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { decideDispute, refundForMerchant } from '../../src/orders/commands/operator-commands.ts';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import { operatorOf } from '../support/operator-of.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

/** Each message that moves money, sent without a row, and the command that its refusal names. */
const BARE: [OrderStatus, OrderMessageName, object, string][] = [
  [
    'PAID',
    'refund',
    {},
    "Cannot refund from here; use the order's page in the operators' dashboard",
  ],
  [
    'DELIVERED',
    'refund',
    {},
    "Cannot refund from here; use the order's page in the operators' dashboard",
  ],
  [
    'DISPUTE_OPEN',
    'accept',
    {},
    'Cannot accept from here; the merchant does it through the API, an operator with admin dispute decide',
  ],
  [
    'DISPUTE_UNDER_REVIEW',
    'decide',
    { for: 'buyer' },
    'Cannot decide from here; use admin dispute decide',
  ],
  [
    'DISPUTE_UNDER_REVIEW',
    'decide',
    { for: 'merchant' },
    'Cannot decide from here; use admin dispute decide',
  ],
  ['DELIVERED', 'settle', {}, 'Cannot settle from here; use admin order settle'],
  [
    'DISPUTE_OPEN',
    'settle',
    { outcome: 'refunded' },
    'Cannot settle from here; use admin order settle',
  ],
];

describe('a message that moves money, sent from the Temporal UI', () => {
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

  test('a command without a name or of another order is refused', async ({ service, orders }) => {
    const order = await orders.in('PAID');
    const other = await orders.in('PAID');
    const anonymous = `cmd_${randomUUID()}`;
    await writeCommand(service.sql, {
      orderNumber: order.orderNumber,
      commandId: anonymous,
      name: 'refund',
      body: { reason: 'Why not' },
    });
    const foreign = `cmd_${randomUUID()}`;
    const origin = { actor: 'cli:asha', reason: 'Sold out' };
    await writeCommand(service.sql, {
      orderNumber: other.orderNumber,
      commandId: foreign,
      name: 'refund',
      body: {},
      origin,
    });
    for (const commandId of [anonymous, foreign]) {
      expect(await order.refusalOfBare('refund', { commandId })).toBe(
        "Cannot refund from here; use the order's page in the operators' dashboard",
      );
    }
    expect(await order.row()).toMatchObject({ status: 'PAID', pendingOperation: null });
  });
});

const requestsOf = ({ sql }: TestService, orderNumber: string) =>
  sql<{ actor: string; reason: string }[]>`
    SELECT actor, reason FROM order_commands
    WHERE order_number = ${orderNumber} AND actor <> 'test' ORDER BY received_at`;

describe('the row of a command contains its actor and reason', () => {
  test('the merchant through the API', async ({ service, merchant, orders }) => {
    const { merchantId } = merchant;
    const disputed = await orders.in('DISPUTE_OPEN');
    await merchant.sandbox.post(`/orders/${disputed.orderNumber}/dispute/accept`);
    await disputed.untilStatus('REFUNDED');
    expect(await requestsOf(service, disputed.orderNumber)).toEqual([
      { actor: merchantId, reason: 'Asked for through the API' },
    ]);
    const paid = await orders.in('PAID');
    const reason = 'Sold out';
    await merchant.sandbox.post(`/orders/${paid.orderNumber}/refund`, { reason });
    await paid.untilStatus('REFUNDED');
    expect(await requestsOf(service, paid.orderNumber)).toEqual([{ actor: merchantId, reason }]);
  });

  test('an operator through admin', async ({ service, orders }) => {
    const operator = operatorOf(service, { name: 'cli:asha', address: '203.0.113.7' });
    const disputed = await orders.in('DISPUTE_UNDER_REVIEW');
    const decision = { winner: 'buyer', reason: 'The parcel was empty' } as const;
    await decideDispute(operator, disputed.orderNumber, decision);
    await disputed.untilStatus('REFUNDED');
    const paid = await orders.in('PAID');
    await refundForMerchant(operator, paid.orderNumber, 'The shop has closed');
    await paid.untilStatus('REFUNDED');
    expect([
      ...(await requestsOf(service, disputed.orderNumber)),
      ...(await requestsOf(service, paid.orderNumber)),
    ]).toEqual([
      { actor: 'cli:asha', reason: 'The parcel was empty' },
      { actor: 'cli:asha', reason: 'The shop has closed' },
    ]);
    expect(
      await service.deps.sql`
        SELECT action, actor, address FROM audit_log
        WHERE subject IN (${disputed.orderNumber}, ${paid.orderNumber}) ORDER BY audit_id`,
    ).toEqual([
      { action: 'dispute.decide', actor: 'cli:asha', address: '203.0.113.7' },
      { action: 'order.refund', actor: 'cli:asha', address: '203.0.113.7' },
    ]);
  });
});
