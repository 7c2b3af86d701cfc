import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { writeDispute } from '../../src/orders/commands/command-queries.ts';
import { anOrder, withKey } from '../support/api-client.ts';
import { sweep } from '../support/gateway.ts';
import { eventNames } from '../../dev/orders/history.ts';
import type { Merchant } from '../support/merchant.ts';
import { directOrder, writeOrder } from '../support/orders.ts';
import { repeated } from '../support/repeated.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { isUnknown, many, pathOf, waitsForItsWorkflow } from './created-orders.ts';
import { A_BUYER } from '../support/actor.ts';

const CANNOT_CANCEL = 'Cannot cancel; order must be in ACCEPTED status';
const CANNOT_DELIVER = 'Cannot mark as delivered; order must be in PAID status';

async function paidOrder(merchant: Merchant) {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  return order;
}

const test = serviceTest({
  time: 'real',
  settings: { SWEEP_AFTER_SECONDS: '0.001' },
  merchant: { webhooks: false },
});

describe('what an API process leaves when it dies', () => {
  test('the sweep starts an order without a workflow, once', async ({ service, merchant }) => {
    const key = randomUUID();
    const { merchantId } = merchant;
    const row = await writeOrder(service, { merchantId, idempotencyKey: key });
    const order = directOrder(service, row);
    expect(await isUnknown(service, order.orderNumber)).toBe(true);

    const swept = await Promise.all([sweep(service), sweep(service)]);
    expect(swept.reduce((sum, { woken }) => sum + woken, 0)).toBeGreaterThanOrEqual(1);
    await until(async () => !(await waitsForItsWorkflow(service, order.orderNumber)));
    const { runId } = await order.handle.describe();
    await sweep(service);
    const replay = await merchant.sandbox.post('/orders', anOrder(), withKey(key));
    expect([replay.status, replay.body.data.order_number]).toEqual([201, order.orderNumber]);

    await merchant.sandbox.help(replay.body.data, 'pay');
    expect(await order.events()).toEqual(['1 ORDER_CREATED', '2 PAYMENT_SUCCESS']);
    expect((await order.handle.describe()).runId).toBe(runId);
  });

  test('the sweep raises a dispute that was written without notifying the workflow, once', async ({
    service,
    merchant,
    orders,
  }) => {
    const order = await paidOrder(merchant);
    const direct = await orders.in('PAID');
    const commandId = `dispute:${randomUUID()}`;
    const dispute = { commandId, reason: 'It never came', actor: A_BUYER };
    await writeDispute(service.sql, direct.orderNumber, dispute);
    await Promise.all([sweep(service), sweep(service)]);
    await direct.untilStatus('DISPUTE_OPEN');
    await sweep(service);
    expect(await direct.row()).toMatchObject({ disputeCount: 1, disputeReason: 'It never came' });
    expect((await merchant.sandbox.get(pathOf(order))).body.data.status).toBe('PAID');
  });
});

describe('a command is carried out once', () => {
  /** Sends thirty concurrent commands to one PAID order over HTTP. */
  async function thirtyAtOnce(
    service: TestService,
    merchant: Merchant,
    commandOf: (index: number) => 'deliver' | 'cancel',
  ) {
    const order = await paidOrder(merchant);
    const handle = service.temporal.client.workflow.getHandle(order.order_number);
    const countAccepted = async () =>
      (await eventNames(handle)).filter((name) => name === 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED')
        .length;
    const acceptedBefore = await countAccepted();
    const ask = (index: number) => {
      const key = withKey(randomUUID());
      return repeated(() => merchant.sandbox.command(order, commandOf(index), undefined, key));
    };
    const answers = await Promise.all(many(30, ask));
    const refused = answers.filter(({ status }) => status === 400);
    return {
      won: answers.filter(({ status }) => status === 200).length,
      refused: refused.length,
      words: new Set(refused.map(({ body }) => body.message)),
      status: (await merchant.sandbox.get(pathOf(order))).body.data.status,
      accepted: (await countAccepted()) - acceptedBefore,
    };
  }

  /**
   * Checks each outcome. A rejected Update is not in the history, unless the server dropped a workflow task:
   * then some Updates were accepted that should have been rejected, and another order shows it.
   */
  async function expectOneDelivery(
    parts: Parameters<typeof thirtyAtOnce>,
    words: readonly string[],
  ): Promise<void> {
    await until(async () => {
      const { accepted, ...outcome } = await thirtyAtOnce(...parts);
      const refused = { refused: 29, words: new Set(words) };
      expect(outcome).toEqual({ won: 1, ...refused, status: 'DELIVERED' });
      return accepted === 1;
    });
  }

  test('of 30 concurrent deliveries exactly one succeeds, and the rest are refused', async ({
    service,
    merchant,
  }) => {
    await expectOneDelivery([service, merchant, () => 'deliver'], [CANNOT_DELIVER]);
  });

  test('of 15 concurrent deliveries and 15 cancellations exactly one delivery succeeds', async ({
    service,
    merchant,
  }) => {
    const commandOf = (index: number) => (index % 2 === 0 ? 'deliver' : 'cancel');
    await expectOneDelivery([service, merchant, commandOf], [CANNOT_DELIVER, CANNOT_CANCEL]);
  });
});
