import { expect } from 'vitest';
import { SCHEDULE_IDS, TASK_QUEUE, VERIFY_LEDGER_WORKFLOW } from '../../src/contracts/ids.ts';
import { findLatestProof } from '../../src/ledger/proofs.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test('a Schedule verifies the ledger every hour, with its own statement timeout', async ({
  service,
  orders,
  onTestFinished,
}) => {
  await orders.in('PAID');
  const { client } = service.temporal;
  await ensureSchedules(client, { sweepAfterMs: 3_600_000 });
  onTestFinished(async () => {
    for (const id of Object.values(SCHEDULE_IDS)) await client.schedule.getHandle(id).delete();
  });
  const handle = client.schedule.getHandle(SCHEDULE_IDS[VERIFY_LEDGER_WORKFLOW]);
  const { spec, action } = await handle.describe();
  expect(spec.intervals).toMatchObject([{ every: 3_600_000 }]);
  expect(action).toMatchObject({ workflowType: 'verifyLedger', taskQueue: TASK_QUEUE });

  await client.workflow.execute(VERIFY_LEDGER_WORKFLOW, {
    workflowId: 'verify-ledger-now',
    taskQueue: TASK_QUEUE,
  });
  expect(await findLatestProof(service.sql)).toMatchObject({
    ok: true,
    figures: { orderCount: 1, captureCount: 1 },
  });
  const [{ timeout } = { timeout: '' }] = await service.deps.ledgerSql<{ timeout: string }[]>`
    SELECT current_setting('statement_timeout') AS timeout`;
  expect(timeout).toBe('5min');
});
