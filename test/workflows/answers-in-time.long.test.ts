import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import type { Orders } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestWorker } from '../support/restartable-worker.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { TEST_ACTOR } from '../support/actor.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

/** A disputed order whose evidence was written before the deadline, after its worker had stopped. */
async function answeredWithoutWorker(service: TestService, orders: Orders, worker: TestWorker) {
  for (let disputeAnswerMs = 5000; ; disputeAnswerMs *= 2) {
    const terms = { environment: 'sandbox', completionWindowMs: 1e9, disputeAnswerMs } as const;
    await worker.start();
    const order = await orders.in('DISPUTE_OPEN', { terms });
    await worker.stop();
    const { orderNumber, disputeRespondBy } = await order.row();
    const commandId = `cmd_${randomUUID()}`;
    const origin = { actor: TEST_ACTOR, reason: 'Evidence' };
    const body = { text: 'Signed for' };
    await writeCommand(service.sql, {
      orderNumber,
      commandId,
      name: 'submitEvidence',
      body,
      origin,
    });
    const [{ inTime }] = await service.sql<[{ inTime: boolean }]>`
      SELECT received_at < ${disputeRespondBy} AS in_time FROM order_commands
      WHERE command_id = ${commandId}`;
    // A busy machine needs a longer time.
    if (inTime) return { order, respondBy: disputeRespondBy! };
  }
}

test('an answer received while no worker runs counts when one starts after the deadline', async ({
  service,
  orders,
  worker,
}) => {
  const { order, respondBy } = await answeredWithoutWorker(service, orders, worker);
  await until(() => Promise.resolve(Date.now() > respondBy.getTime()));
  await worker.start();
  await order.untilStep('EVIDENCE_SUBMITTED');
  expect(await order.kinds()).not.toContain('REFUND_STARTED');
});
