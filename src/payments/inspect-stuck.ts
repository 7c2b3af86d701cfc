import { setTimeout as delay } from 'node:timers/promises';
import type { PendingActivity, WorkflowInspector } from '../temporal/pending-activities.ts';
import { gatewayCallsOf } from './gateway-calls.ts';
import type { StuckMoney } from './stuck-money.ts';

/** One request to Temporal for each of them: a page shows no more. */
const MAX_INSPECTED = 10;

/** The page waits no longer for Temporal. */
const INSPECT_TIMEOUT_MS = 2000;

/** What Temporal has of a stuck movement of money. */
export type StuckCall =
  /** The call that is retried. */
  | ({ state: PendingActivity['state'] } & Pick<
      PendingActivity,
      'attempt' | 'lastError' | 'lastTriedAt' | 'nextTryAt'
    >)
  /** The workflow runs and waits for no call to the gateway. */
  | { state: 'none' }
  /** There is no running workflow: the order needs to be recovered. */
  | { state: 'no_workflow' }
  /** Temporal was not asked, or could not be reached in time. */
  | { state: 'unknown' };

/**
 * Asks Temporal for the state of stuck movements of money: at most the first ten, concurrently, for
 * at most two seconds. Never throws because of Temporal.
 */
export async function inspectStuck(
  inspector: WorkflowInspector,
  stuck: readonly StuckMoney[],
): Promise<(StuckMoney & { call: StuckCall })[]> {
  // The deadline of a call does not include the time in which its connection fails.
  const late = delay(INSPECT_TIMEOUT_MS, UNKNOWN, { ref: false });
  return Promise.all(
    stuck.map(async (one, index) => {
      const isAsked = index < MAX_INSPECTED && one.workflowId !== null;
      return {
        ...one,
        call: isAsked ? await Promise.race([callOf(inspector, one), late]) : UNKNOWN,
      };
    }),
  );
}

const UNKNOWN = { state: 'unknown' } as const;

async function callOf(inspector: WorkflowInspector, one: StuckMoney): Promise<StuckCall> {
  try {
    const view = await inspector.inspect(one.workflowId ?? '', INSPECT_TIMEOUT_MS);
    if (view?.status !== 'RUNNING') return { state: 'no_workflow' };
    const [call] = gatewayCallsOf([view]);
    if (!call) return { state: 'none' };
    const { state, attempt, lastError, lastTriedAt, nextTryAt } = call;
    return { state, attempt, lastError, lastTriedAt, nextTryAt };
  } catch {
    return UNKNOWN;
  }
}
