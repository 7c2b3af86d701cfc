import { describe, expect } from 'vitest';
import { anOrder, withKey } from '../support/api-client.ts';
import { sweep } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { isUnknown, pathOf, waitsForItsWorkflow } from './created-orders.ts';

const FORGOTTEN_KEY = 'of-an-order-long-ago';
const CANNOT_CANCEL = 'Cannot cancel; order must be in ACCEPTED status';

/** Deletes an order's workflow, as Temporal's retention does. */
async function askToForget(service: TestService, orderNumber: string): Promise<void> {
  const { client, namespace } = service.temporal;
  await client.workflow.getHandle(orderNumber).result();
  await client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: orderNumber },
  });
}

const test = serviceTest({
  time: 'real',
  settings: { SWEEP_AFTER_SECONDS: '0.001' },
  merchant: { webhooks: false },
}).extend('forgotten', { scope: 'file' }, async ({ service, merchant }) => {
  const created = await merchant.sandbox.create({}, withKey(FORGOTTEN_KEY));
  const path = `${pathOf(created)}/cancel`;
  const { body } = await merchant.sandbox.post(path, undefined, withKey(FORGOTTEN_KEY));
  await askToForget(service, body.data.order_number);
  return body.data;
});
// Started early, because Temporal needs some time for it.
test.beforeAll(({ forgotten }) => void forgotten);

describe('an order whose workflow Temporal has deleted', () => {
  // Temporal needs half a minute for the deletion, and longer on a busy machine.
  test.beforeAll(({ service, forgotten }) =>
    until(() => isUnknown(service, forgotten.order_number)),
  );

  test('is returned for a repeated key, which starts no workflow', async ({
    service,
    merchant,
    forgotten,
  }) => {
    const replay = await merchant.sandbox.post('/orders', anOrder(), withKey(FORGOTTEN_KEY));
    expect(replay.status).toBe(201);
    expect(replay.headers.get('Idempotent-Replayed')).toBe('true');
    expect(replay.body.data).toEqual(forgotten);
    await sweep(service);
    expect(await waitsForItsWorkflow(service, forgotten.order_number)).toBe(false);
    expect(await isUnknown(service, forgotten.order_number)).toBe(true);
  });

  test('is returned as it is now for a repeated command, and refuses a new one', async ({
    merchant,
    forgotten,
  }) => {
    const path = `${pathOf(forgotten)}/cancel`;
    const again = await merchant.sandbox.post(path, undefined, withKey(FORGOTTEN_KEY));
    expect([again.status, again.body.data]).toEqual([200, forgotten]);
    const fresh = await merchant.sandbox.post(path);
    expect([fresh.status, fresh.body.message]).toEqual([400, CANNOT_CANCEL]);
  });
});
