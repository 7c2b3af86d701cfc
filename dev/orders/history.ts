import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';

const { EventType } = proto.temporal.api.enums.v1;
type HistoryEvent = proto.temporal.api.history.v1.IHistoryEvent;

/** The names of history events, such as `WORKFLOW_TASK_COMPLETED`. */
export const namesOf = (events: readonly HistoryEvent[]): string[] =>
  events.map(({ eventType }) => (EventType[eventType ?? 0] ?? '').replace('EVENT_TYPE_', ''));

/** The names of a workflow's history events, in their order. */
export async function eventNames(handle: WorkflowHandle): Promise<string[]> {
  const { events } = await handle.fetchHistory();
  return namesOf(events ?? []);
}

/** The events that Temporal Cloud bills as one action each, of those that the order workflow uses. */
const BILLED = [
  'WORKFLOW_EXECUTION_STARTED',
  'TIMER_STARTED',
  'WORKFLOW_EXECUTION_SIGNALED',
  'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
  'ACTIVITY_TASK_SCHEDULED',
  'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
  'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
];

/**
 * Counts the billable actions of a history. The local activities of one workflow task are one action
 * together: their markers follow the task's completion.
 */
export function billableActions(names: readonly string[]): number {
  let actions = 0;
  let markerCounted = false;
  for (const name of names) {
    if (name === 'WORKFLOW_TASK_COMPLETED') markerCounted = false;
    if (BILLED.includes(name)) actions += 1;
    if (name === 'MARKER_RECORDED' && !markerCounted) {
      markerCounted = true;
      actions += 1;
    }
  }
  return actions;
}

/** The payloads of a history, as the text that an operator sees in the Temporal UI. */
export function payloadTexts(events: readonly HistoryEvent[]): string {
  return JSON.stringify(events, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value,
  );
}
