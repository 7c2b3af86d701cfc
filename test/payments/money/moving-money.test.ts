import { describe, expect } from 'vitest';
import { REFUSALS } from '../../../src/domain/index.ts';
import { refusalOf } from '../../domain/lifecycle-model.ts';
import type { Row } from '../../domain/lifecycle-walk.ts';
import { aCommand, factsIn, rowsOf } from '../../domain/lifecycle-walk.ts';
import type { ClientCommand } from '../../support/command-requests.ts';
import { ask, CLIENT_COMMANDS } from '../../support/command-requests.ts';
import type { DirectOrder, Orders } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { A_BUYER } from '../../support/actor.ts';
import { recordDispute } from '../../support/disputes.ts';

const HOUR_MS = 3_600_000;
const AMOUNT_PAISE = 49_950;

const test = serviceTest({
  time: 'skipping',
  callbacks: false,
  // It caches no workflow, so that another worker can continue immediately.
  worker: { options: { maxCachedWorkflows: 0 } },
  merchant: { webhooks: false },
});

/** Every release and refund that a command of a person or a deadline begins, from one status each. */
const BEGUN_BY = ['expire', 'accept', 'refund', 'decideForBuyer'] as const;
const MOVES = rowsOf(BEGUN_BY).filter(({ type, pending }, index, rows) => {
  const isSame = (row: Row) => row.type === type && row.pending?.kind === pending?.kind;
  return pending?.kind !== 'closing' && rows.findIndex(isSame) === index;
});

describe.each(MOVES)('the money of a $from order moves by $type', (move) => {
  const { from, type, pending, to, step } = move;
  const isRelease = pending?.kind === 'releasing';

  test(`and only then is the order ${to}: while the gateway is unavailable it stays ${from} and takes no command, then it continues`, async ({
    service,
    merchant: { sandbox },
    orders,
    gateway,
  }) => {
    const order = await orders.in(from);
    const { endFault, hits } = await gateway.addFault({ kind: 'error' });
    if (type === 'expire') await service.skip((isRelease ? 24 : 72) * HOUR_MS + 1000);
    else if (type === 'decideForBuyer') await order.update('decide', { for: 'buyer' });
    else await ask(sandbox, type as ClientCommand, order);
    await until(async () => (await sandbox.timeline(order)).doing === pending?.kind);
    await until(async () => (await hits()) >= 2 || (await service.skip(HOUR_MS)));
    const waiting = await sandbox.read(order);
    expect(waiting.status).toBe(from);
    expect(waiting.refund?.processed_at).toBe(isRelease ? undefined : null);
    expect((await sandbox.timeline(order)).next?.action).toBe(
      isRelease ? 'the funds are being released to the merchant' : 'the buyer is being refunded',
    );

    const facts = { ...factsIn(from), doing: pending };
    for (const command of CLIENT_COMMANDS) {
      const { status, body } = await ask(sandbox, command, order);
      const refusal = refusalOf(facts, aCommand(command));
      expect([command, status, body.message]).toEqual([command, 400, refusal]);
    }
    expect((await sandbox.openSession(order)).body.message).toBe(REFUSALS.pay);
    expect(await sandbox.read(order)).toEqual(waiting);

    const eventsBefore = await order.events();
    await endFault();
    await service.skip(HOUR_MS);
    await order.untilStatus(to);
    expect((await order.events()).slice(eventsBefore.length)).toEqual([
      `${eventsBefore.length + 1} ${step}`,
    ]);
    const after = await sandbox.read(order);
    if (!isRelease) expect(after.refund?.processed_at).toBe(after.updated_at);
    expect(await order.made(isRelease ? 'transfers' : 'refunds')).toMatchObject([
      { amount: AMOUNT_PAISE, status: 'processed', ...(isRelease && { on_hold: false }) },
    ]);
  });
});

describe('a dispute that the database received', () => {
  async function aMinuteBeforeTheEnd(service: TestService, orders: Orders): Promise<DirectOrder> {
    const order = await orders.in('DELIVERED');
    await service.skip(24 * HOUR_MS - 60_000);
    return order;
  }

  const receive = async (service: TestService, order: DirectOrder, commandId: string) =>
    recordDispute(service.sql, order.orderNumber, {
      commandId,
      reason: 'It never arrived at all',
      actor: A_BUYER,
    });

  // Everything that happens while no worker runs reaches the order in one activation later.
  test('before the window’s end counts, even if the workflow was not notified of it', async ({
    service,
    merchant,
    orders,
  }) => {
    const order = await aMinuteBeforeTheEnd(service, orders);
    expect(await receive(service, order, 'dispute:in time')).toMatchObject({
      receivedAt: expect.any(Date),
    });
    await service.skip(60_000 + 1000);
    await order.untilStatus('DISPUTE_OPEN');
    expect(await merchant.sandbox.read(order)).toMatchObject({
      dispute_count: 1,
      dispute: { reason: 'It never arrived at all' },
    });
    expect(await order.kinds()).not.toContain('RELEASE_STARTED');
    expect(await order.made('transfers')).toEqual([]);
  });

  test('before the window’s end counts once, if the workflow is notified late', async ({
    service,
    worker,
    orders,
  }) => {
    const order = await aMinuteBeforeTheEnd(service, orders);
    await worker.whileStopped(async () => {
      const received = await receive(service, order, 'dispute:late news');
      await service.skip(60_000 + 1000);
      const message = {
        commandId: 'dispute:late news',
        receivedAtMs: received.receivedAt.getTime(),
      };
      await order.signal('dispute', message);
    });
    await order.untilStatus('DISPUTE_OPEN');
    expect((await order.events()).slice(3)).toEqual(['4 DISPUTE_RAISED']);
  });

  test('after the window’s end does not count, even if the release has not begun', async ({
    service,
    worker,
    merchant,
    orders,
  }) => {
    const order = await orders.in('DELIVERED');
    await worker.whileStopped(async () => {
      await service.skip(24 * HOUR_MS + 1000);
      const received = await receive(service, order, 'dispute:too late');
      const message = {
        commandId: 'dispute:too late',
        receivedAtMs: received.receivedAt.getTime(),
      };
      await order.signal('dispute', message);
    });
    await order.untilStatus('COMPLETED');
    expect(await merchant.sandbox.read(order)).toMatchObject({ dispute_count: 0, dispute: null });
  });
});
