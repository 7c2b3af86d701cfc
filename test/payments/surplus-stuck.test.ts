import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RECONCILE_WORKFLOW, refundWorkflowId, TASK_QUEUE } from '../../src/contracts/ids.ts';
import {
  breakGateway,
  madeAtGateway,
  payAtGateway,
  sessionOf,
  withoutCallbacks,
} from '../support/gateway.ts';
import { until } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  await withoutCallbacks(service);
  worker = await service.startWorker();
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

let minutes = 0;
async function aMinuteLater(): Promise<void> {
  minutes += 1;
  await service.clock.set(minutes * 60_000);
  await service.temporal.client.workflow.execute(RECONCILE_WORKFLOW, {
    workflowId: `reconcile-${randomUUID()}`,
    taskQueue: TASK_QUEUE,
  });
}

test('a surplus capture that the gateway will not give back costs its order nothing', async () => {
  const merchant = await service.newMerchant({ webhooks: false });
  const order = await merchant.sandbox.create();
  const { order_number: orderNumber } = order;
  await merchant.sandbox.post(`/orders/${orderNumber}/payment-sessions`);
  const { gateway_session_id: sessionId } = await sessionOf(service, order);
  await payAtGateway(service, sessionId);
  const surplusId = await payAtGateway(service, sessionId, { late: true });
  const { mend } = await breakGateway(service, { kind: 'error', path: '/v1/payments/*/refund' });
  await aMinuteLater();
  const handle = service.temporal.client.workflow.getHandle(orderNumber);
  const refund = service.temporal.client.workflow.getHandle(refundWorkflowId(surplusId));
  await until(async () => (await refund.describe().catch(() => undefined)) !== undefined);

  await aMinuteLater();
  const { historyLength } = await handle.describe();
  for (let more = 0; more < 3; more += 1) await aMinuteLater();
  expect((await handle.describe()).historyLength).toBe(historyLength);
  await mend();
  await until(async () => (await madeAtGateway(service, surplusId, 'refunds')).length === 1);
});
