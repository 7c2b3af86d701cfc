import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { optionalTsToDate } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { CALL_TIMEOUT_MS, isGrpcNotFound } from './client.ts';

const { PendingActivityState } = proto.temporal.api.enums.v1;
const POLL_INTERVAL_MS = 200;

export interface PendingActivity {
  workflowId: string;
  runId: string;
  activityId: string;
  activityType: string;
  /** `running`: on a worker. `due`: waits for the next free worker. `waiting`: until `nextTryAt`. */
  state: 'running' | 'due' | 'waiting' | 'paused';
  /** The number of the current or next attempt, from 1. */
  attempt: number;
  lastError: string | null;
  lastTriedAt: Date | null;
  /** Null unless the state is `waiting`. */
  nextTryAt: Date | null;
}

export interface WorkflowView {
  workflowId: string;
  runId: string;
  /** Temporal's name of the status, such as RUNNING or COMPLETED. */
  status: string;
  pending: PendingActivity[];
}

/** The result of {@link WorkflowInspector.tryNow}. `started`: the attempt has not ended in time. */
export type TryOutcome =
  | { outcome: 'done' }
  | { outcome: 'failed'; error: string | null; nextTryAt: Date | null }
  | { outcome: 'started' };

export interface WorkflowInspector {
  /**
   * @param timeoutMs the deadline of the call; 4.5 s if absent
   * @returns null when the workflow never started or its retention has ended
   */
  inspect(workflowId: string, timeoutMs?: number): Promise<WorkflowView | null>;
  /** Retries an activity now instead of at `nextTryAt`, and waits up to `waitMs` for the result. */
  tryNow(activity: PendingActivity, waitMs: number): Promise<TryOutcome>;
}

export function createWorkflowInspector(client: Client): WorkflowInspector {
  return {
    inspect: (workflowId, timeoutMs) => inspect(client, workflowId, timeoutMs),
    async tryNow(activity, waitMs) {
      return (await reset(client, activity))
        ? outcomeWithin(client, activity, waitMs)
        : { outcome: 'done' };
    },
  };
}

async function inspect(
  client: Client,
  workflowId: string,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<WorkflowView | null> {
  try {
    const { runId, status, raw } = await client.withDeadline(Date.now() + timeoutMs, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    const pending = (raw.pendingActivities ?? []).map((activity) => ({
      workflowId,
      runId,
      ...presentActivity(activity),
    }));
    return { workflowId, runId, status: status.name, pending };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

function presentActivity(activity: proto.temporal.api.workflow.v1.IPendingActivityInfo) {
  const nextTryAt = optionalTsToDate(activity.nextAttemptScheduleTime) ?? null;
  return {
    activityId: activity.activityId ?? '',
    activityType: activity.activityType?.name ?? '',
    state: stateOf(activity, nextTryAt),
    attempt: activity.attempt ?? 1,
    lastError: activity.lastFailure?.message ?? null,
    lastTriedAt: optionalTsToDate(activity.lastAttemptCompleteTime) ?? null,
    nextTryAt,
  };
}

function stateOf(
  { state }: proto.temporal.api.workflow.v1.IPendingActivityInfo,
  nextTryAt: Date | null,
): PendingActivity['state'] {
  if (state === PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED) return 'paused';
  if (state !== PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED) return 'running';
  return nextTryAt === null ? 'due' : 'waiting';
}

/**
 * Resets an activity: Temporal counts its attempts from 1 again and schedules the first one now. The history of the
 * workflow does not change, and a running attempt is not started again. Newer servers call this
 * ResetActivityExecution; all servers from 1.28 on accept this name.
 *
 * @returns false when the activity has completed in the meantime
 */
async function reset(client: Client, activity: PendingActivity): Promise<boolean> {
  const { workflowId, runId, activityId } = activity;
  const { namespace, identity } = client.options;
  try {
    await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
      client.workflowService.resetActivity({
        namespace,
        identity,
        execution: { workflowId, runId },
        id: activityId,
      }),
    );
    return true;
  } catch (error) {
    if (isGrpcNotFound(error)) return false;
    throw error;
  }
}

/**
 * Polls until the attempt has ended: the activity is no longer pending, or its last attempt is later than before. A
 * failure is returned only if the next attempt comes after the wait, because a gateway may need only a second.
 */
async function outcomeWithin(
  client: Client,
  before: PendingActivity,
  waitMs: number,
): Promise<TryOutcome> {
  const endsAtMs = Date.now() + waitMs;
  for (;;) {
    const view = await inspect(client, before.workflowId);
    const now = view?.pending.find(({ activityId }) => activityId === before.activityId);
    if (!now) return { outcome: 'done' };
    const hasFailed = (now.lastTriedAt?.getTime() ?? 0) > (before.lastTriedAt?.getTime() ?? 0);
    const isTooLate = (now.nextTryAt?.getTime() ?? 0) > endsAtMs;
    const isOver = Date.now() > endsAtMs;
    if (hasFailed && (isTooLate || isOver)) {
      return { outcome: 'failed', error: now.lastError, nextTryAt: now.nextTryAt };
    }
    if (isOver) return { outcome: 'started' };
    await wait(POLL_INTERVAL_MS);
  }
}
