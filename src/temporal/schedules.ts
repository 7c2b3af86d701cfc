import type { Client } from '@temporalio/client';
import { ScheduleAlreadyRunning } from '@temporalio/client';
import {
  COMPARE_GATEWAY_WORKFLOW,
  COMPARE_WORKFLOW,
  RECONCILE_WORKFLOW,
  RETENTION_WORKFLOW,
  SCHEDULE_IDS,
  SEAL_BLOCKS_WORKFLOW,
  SWEEP_WORKFLOW,
  TASK_QUEUE,
  VERIFY_LEDGER_WORKFLOW,
} from '../contracts/ids.ts';

/** In this time, a merchant with ten orders per second fills one and a half blocks. */
const SEAL_BLOCKS_MS = 5 * 60_000;

/** A proof of the whole ledger reads every order. */
const VERIFY_LEDGER_MS = 60 * 60_000;

/** The data that expires within an hour is deleted in some seconds. */
const RETENTION_MS = 60 * 60_000;

/**
 * Among 10,000 open orders a missing workflow must be found within a minute. The comparison takes up to half of it.
 */
const COMPARE_MS = 30_000;

/** The comparison makes two calls to the gateway for each payment of an order that is open or ended within a week. */
const COMPARE_GATEWAY_MS = 24 * 60 * 60_000;

const RUN_TIMEOUT_MS = 10 * 60_000;
/**
 * Comparing millions of open orders or payments takes long. The comparison of orders works a quarter of its time:
 * see activities/schedules.ts.
 */
const COMPARE_TIMEOUT_MS = 24 * 60 * 60_000;

/**
 * Creates or updates the service's Schedules.
 *
 * @param intervals.sweepAfterMs the interval of the sweep, and half of that of the reconciliation with
 *   the gateway
 */
export async function ensureSchedules(
  client: Client,
  { sweepAfterMs }: { sweepAfterMs: number },
): Promise<void> {
  await ensureSchedule(client, SWEEP_WORKFLOW, sweepAfterMs);
  await ensureSchedule(client, COMPARE_WORKFLOW, COMPARE_MS, COMPARE_TIMEOUT_MS);
  await ensureSchedule(client, RECONCILE_WORKFLOW, 2 * sweepAfterMs);
  await ensureSchedule(client, SEAL_BLOCKS_WORKFLOW, SEAL_BLOCKS_MS);
  await ensureSchedule(client, VERIFY_LEDGER_WORKFLOW, VERIFY_LEDGER_MS);
  await ensureSchedule(client, COMPARE_GATEWAY_WORKFLOW, COMPARE_GATEWAY_MS, COMPARE_TIMEOUT_MS);
  await ensureSchedule(client, RETENTION_WORKFLOW, RETENTION_MS);
}

async function ensureSchedule(
  client: Client,
  workflowType: keyof typeof SCHEDULE_IDS,
  everyMs: number,
  workflowRunTimeout = RUN_TIMEOUT_MS,
): Promise<void> {
  const scheduleId = SCHEDULE_IDS[workflowType];
  const options = {
    spec: { intervals: [{ every: everyMs }] },
    action: {
      type: 'startWorkflow' as const,
      workflowType,
      workflowId: scheduleId,
      taskQueue: TASK_QUEUE,
      args: [],
      workflowRunTimeout,
    },
    policies: { overlap: 'SKIP' as const, catchupWindow: Math.max(60_000, everyMs) },
  };
  try {
    await client.schedule.create({ scheduleId, ...options });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const schedule = client.schedule.getHandle(scheduleId);
    await schedule.update((current) => ({ ...current, ...options }));
  }
}
