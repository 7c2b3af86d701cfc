import type { Client } from '@temporalio/client';
import { ScheduleAlreadyRunning } from '@temporalio/client';
import {
  COMPARE_SCHEDULE_ID,
  COMPARE_WORKFLOW,
  RECONCILE_SCHEDULE_ID,
  RECONCILE_WORKFLOW,
  SEAL_BLOCKS_SCHEDULE_ID,
  SEAL_BLOCKS_WORKFLOW,
  SWEEP_SCHEDULE_ID,
  SWEEP_WORKFLOW,
  TASK_QUEUE,
} from '../contracts/ids.ts';

/** A merchant with ten orders per second fills one and a half blocks in this time. */
const SEAL_BLOCKS_MS = 5 * 60_000;

/** A missing workflow must be found within a minute; the comparison itself may take half of it. */
const COMPARE_MS = 30_000;

/**
 * Creates or updates the service's Schedules.
 *
 * @param intervals.sweepAfterMs the interval of the sweep
 * @param intervals.reconcileMs the interval of the reconciliation with the gateway
 */
export async function ensureSchedules(
  client: Client,
  intervals: { sweepAfterMs: number; reconcileMs: number },
): Promise<void> {
  const { sweepAfterMs, reconcileMs } = intervals;
  await ensureSchedule(client, SWEEP_SCHEDULE_ID, SWEEP_WORKFLOW, sweepAfterMs);
  await ensureSchedule(client, COMPARE_SCHEDULE_ID, COMPARE_WORKFLOW, COMPARE_MS);
  await ensureSchedule(client, RECONCILE_SCHEDULE_ID, RECONCILE_WORKFLOW, reconcileMs);
  await ensureSchedule(client, SEAL_BLOCKS_SCHEDULE_ID, SEAL_BLOCKS_WORKFLOW, SEAL_BLOCKS_MS);
}

async function ensureSchedule(
  client: Client,
  scheduleId: string,
  workflowType: string,
  everyMs: number,
): Promise<void> {
  const options = {
    spec: { intervals: [{ every: everyMs }] },
    action: {
      type: 'startWorkflow' as const,
      workflowType,
      workflowId: scheduleId,
      taskQueue: TASK_QUEUE,
      args: [],
      workflowRunTimeout: 10 * 60_000,
    },
    policies: { overlap: 'SKIP' as const, catchupWindow: 60_000 },
  };
  try {
    await client.schedule.create({ scheduleId, ...options });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const schedule = client.schedule.getHandle(scheduleId);
    await schedule.update((current) => ({ ...current, ...options }));
  }
}
