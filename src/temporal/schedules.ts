import type { Client } from '@temporalio/client';
import { ScheduleAlreadyRunning } from '@temporalio/client';
import { SWEEP_SCHEDULE_ID, SWEEP_WORKFLOW, TASK_QUEUE } from '../contracts/ids.ts';

/** Creates the service's Schedules, or brings them up to date. */
export async function ensureSchedules(client: Client, sweepAfterMs: number): Promise<void> {
  const options = {
    scheduleId: SWEEP_SCHEDULE_ID,
    spec: { intervals: [{ every: sweepAfterMs }] },
    action: {
      type: 'startWorkflow' as const,
      workflowType: SWEEP_WORKFLOW,
      workflowId: SWEEP_SCHEDULE_ID,
      taskQueue: TASK_QUEUE,
      workflowRunTimeout: '10 minutes' as const,
    },
    policies: { overlap: 'SKIP' as const, catchupWindow: '1 minute' as const },
  };
  try {
    await client.schedule.create(options);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule.getHandle(SWEEP_SCHEDULE_ID).update((current) => ({
      ...current,
      spec: options.spec,
      action: options.action,
      policies: options.policies,
    }));
  }
}
