import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { optionalTsToDate } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { isGrpcNotFound } from './grpc-errors.ts';

const { PendingActivityState } = proto.temporal.api.enums.v1;
const TEMPORAL_TIMEOUT_MS = 4500;
const LOOK_EVERY_MS = 200;

/** An activity that its workflow still waits for. */
export interface PendingActivity {
  workflowId: string;
  runId: string;
  activityId: string;
  activityType: string;
  /** `running`: on a worker now. `due`: for the next free worker. `waiting`: until its next try. */
  state: 'running' | 'due' | 'waiting' | 'paused';
  /** The number of the try that runs or comes next. */
  attempt: number;
  lastError: string | null;
  lastTriedAt: Date | null;
  /** Null unless it is waiting. */
  nextTryAt: Date | null;
}

/** A workflow as Temporal describes it. */
export interface WorkflowView {
  workflowId: string;
  runId: string;
  /** Temporal's own word, such as RUNNING or COMPLETED. */
  status: string;
  pending: PendingActivity[];
}

/** What came of a try: `started` when that is not known in time. */
export type TryOutcome =
  | { outcome: 'done' }
  | { outcome: 'failed'; error: string | null; nextTryAt: Date | null }
  | { outcome: 'started' };

/** What operators see of workflows, and can do to their activities. */
export interface WorkflowInspector {
  /** @returns null when Temporal does not have it: it never started, or its retention is over */
  inspect(workflowId: string): Promise<WorkflowView | null>;
  /** Has an activity tried now instead of at its next try, and waits for what comes of it. */
  tryNow(activity: PendingActivity, waitMs: number): Promise<TryOutcome>;
}

/** Workflows over a Temporal client. */
export function createWorkflowInspector(client: Client): WorkflowInspector {
  return {
    inspect: (workflowId) => inspect(client, workflowId),
    async tryNow(activity, waitMs) {
      return (await reset(client, activity))
        ? outcomeWithin(client, activity, waitMs)
        : { outcome: 'done' };
    },
  };
}

async function inspect(client: Client, workflowId: string): Promise<WorkflowView | null> {
  try {
    const { runId, status, raw } = await client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, () =>
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
 * Temporal's own way: the attempts are counted anew, and the first of them is due now. The workflow
 * and its history know nothing of it, and an activity that runs is not started a second time.
 * Newer servers name this call ResetActivityExecution; those from 1.28 on know this name.
 *
 * @returns false when the activity has ended meanwhile
 */
async function reset(client: Client, activity: PendingActivity): Promise<boolean> {
  const { workflowId, runId, activityId } = activity;
  const { namespace, identity } = client.options;
  try {
    await client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, () =>
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
 * A try has ended when the activity is gone, or its last try is a later one than before. A failure
 * counts only when the try after it comes too late to wait for: a gateway may just need a second.
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
    await wait(LOOK_EVERY_MS);
  }
}
