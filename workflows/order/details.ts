import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { PendingOperation, Deadline, OrderState } from '../../src/domain/index.ts';
import { WAITING_FOR } from '../../src/domain/index.ts';

const AT_THE_GATEWAY = {
  closing: 'Asking the gateway to close the open payment session, to cancel the order.',
  releasing: 'Releasing the funds to the merchant at the gateway.',
  refunding: 'Refunding the buyer at the gateway.',
} as const satisfies Record<PendingOperation['kind'], string>;

const AT_DEADLINE = {
  payment_link: 'the payment link expires and the order is cancelled',
  completion: 'the dispute window ends and the funds are released',
  dispute_answer: 'the dispute counts as unresolved and the buyer is refunded',
} as const satisfies Record<Deadline['kind'], string>;

/** What the order waits for and until when, in Markdown, as the Temporal UI shows it. */
export function currentDetails(state: OrderState): string {
  const { status, pendingOperation, deadline, disputeCount } = state;
  const lines = [
    `**${status}** · ${pendingOperation ? AT_THE_GATEWAY[pendingOperation.kind] : WAITING_FOR[status]}`,
  ];
  if (deadline && !pendingOperation) {
    lines.push(`At **${new Date(deadline.atMs).toISOString()}** ${AT_DEADLINE[deadline.kind]}.`);
  }
  if (disputeCount > 0) lines.push(`Disputes so far: ${disputeCount}.`);
  return lines.join('\n\n');
}

/** The summary of the deadline's timer in the event history. */
export function deadlineSummary({ kind }: Deadline): string {
  return `Until ${AT_DEADLINE[kind]}`;
}

/** Shows in the Temporal UI that the order is blocked until the database records its next step. */
export function showBlocked(state: OrderState): void {
  const reason = 'The database does not record the next step. `admin alert list` says why.';
  setCurrentDetails(`${currentDetails(state)}\n\n**Blocked:** ${reason}`);
}

/** Shows in the Temporal UI what the order waits for. */
export function showState(state: OrderState): void {
  setCurrentDetails(currentDetails(state));
}

/** The same, and the search attributes that have changed: each upsert is billed. */
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
