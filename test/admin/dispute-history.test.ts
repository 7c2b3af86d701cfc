import { expect } from 'vitest';
import { findDisputeHistory } from '../../src/orders/lists/dispute-history.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { decideDispute } from '../../src/orders/commands/operator-commands.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { operatorOf } from '../support/operator-of.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

const historyOf = ({ deps }: TestService, order: OrderRow, limit = 10) =>
  findDisputeHistory(deps.sql, order, limit);

test('shows how earlier disputes between the same buyer and merchant ended', async ({
  service,
  orders,
}) => {
  const buyerOf = (buyerEmail: string, buyerPhone: string) => ({ buyerEmail, buyerPhone });
  const decided = await orders.in(
    'DISPUTE_UNDER_REVIEW',
    buyerOf('Asha@Example.com', '+919000000001'),
  );
  const decision = { winner: 'merchant', reason: 'The courier has a signature' } as const;
  await decideDispute(operatorOf(service), decided.orderNumber, decision);
  const accepted = await orders.in('REFUNDED', buyerOf('other@example.com', '+919000000002'));
  const stranger = await orders.in('DISPUTE_OPEN', buyerOf('x@example.com', '+919000000009'));
  const undisputed = await orders.in('PAID', buyerOf('asha@example.com', '+919000000002'));
  const elsewhere = await service.newMerchant({ webhooks: false });
  const here = await orders.in('DISPUTE_OPEN', buyerOf('asha@example.com', '+919000000002'));

  const { orders: found, hasMore } = await historyOf(service, await here.row());
  expect(hasMore).toBe(false);
  expect(found.map(({ orderNumber }) => orderNumber)).toEqual([
    accepted.orderNumber,
    decided.orderNumber,
  ]);
  expect(found).toMatchObject([
    {
      status: 'REFUNDED',
      sameEmail: false,
      samePhone: true,
      disputes: [{ number: 1, ending: 'accepted_by_merchant' }],
    },
    {
      status: 'DELIVERED',
      sameEmail: true,
      samePhone: false,
      disputes: [
        {
          ending: 'decided_for_merchant',
          decision: { for: 'merchant', reason: decision.reason, actor: TEST_ACTOR.name },
        },
      ],
    },
  ]);
  expect(found).not.toContainEqual(expect.objectContaining({ orderNumber: stranger.orderNumber }));
  expect(found).not.toContainEqual(
    expect.objectContaining({ orderNumber: undisputed.orderNumber }),
  );
  expect(await historyOf(service, await here.row(), 1)).toMatchObject({ hasMore: true });
  const row = await here.row();
  expect((await historyOf(service, { ...row, merchantId: elsewhere.merchantId })).orders).toEqual(
    [],
  );
  expect((await historyOf(service, { ...row, environment: 'production' })).orders).toEqual([]);
});
