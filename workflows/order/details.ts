import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { RecordStepResult } from '../../src/contracts/activities.ts';
import type { Deadline, OrderState } from '../../src/domain/index.ts';
import { AT_DEADLINE, phaseOf, WAITING } from '../../src/domain/index.ts';

/** What the order waits for and until when, in Markdown, for the Temporal UI. */
export function currentDetails(state: OrderState): string {
  const { status, pendingOperation, deadline, disputeCount } = state;
  const lines = [`**${status}** · ${WAITING[phaseOf(state)]}`];
  if (deadline && !pendingOperation) {
    lines.push(
      `At **${new Date(deadline.atMs).toISOString()}** ${AT_DEADLINE[deadline.kind].operator}.`,
    );
  }
  if (disputeCount > 0) lines.push(`Disputes so far: ${disputeCount}.`);
  return lines.join('\n\n');
}

/** The summary of the deadline's timer in the event history. */
export function deadlineSummary({ kind }: Deadline): string {
  return `Until ${AT_DEADLINE[kind].operator}`;
}

/** Shows in the Temporal UI that the order is blocked until the database records its next step. */
export function showBlocked(state: OrderState): void {
  const reason = 'The database does not record the next step. `admin alert list` says why.';
  setCurrentDetails(`${currentDetails(state)}\n\n**Blocked:** ${reason}`);
}

type ReleaseCause = Extract<RecordStepResult, { outcome: 'release_waits' }>['cause'];

/** Why a release waits after its window has ended, for operators. */
const RELEASE_WAITS = {
  merchant_not_active: 'the merchant is not active',
  reversed_at_gateway: 'the gateway has reversed some of the payment, or may do so',
} as const satisfies Record<ReleaseCause, string>;

/** Shows in the Temporal UI why the order's release waits. */
export function showReleaseWaits(state: OrderState, cause: ReleaseCause): void {
  setCurrentDetails(`${currentDetails(state)}\n\n**The release waits:** ${RELEASE_WAITS[cause]}.`);
}

/** Shows in the Temporal UI what the order waits for. */
export function showState(state: OrderState): void {
  setCurrentDetails(currentDetails(state));
}

/** The same, and updates only the search attributes that have changed, because each upsert is billed. */
export function showChange(state: OrderState, before: OrderState): void {
  showState(state);
  const { status, disputeCount } = state;
  const isDisputedAgain = disputeCount !== before.disputeCount;
  if (status === before.status && !isDisputedAgain) return;
  upsertSearchAttributes([
    { key: { name: 'OrderStatus', type: 'KEYWORD' }, value: status },
    ...(isDisputedAgain
      ? [{ key: { name: 'DisputeCount', type: 'INT' } as const, value: disputeCount }]
      : []),
  ]);
}
