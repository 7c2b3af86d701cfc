import type { CommandType, PendingOperation, PhaseFacts } from '../../src/domain/index.ts';
import { recordedSteps } from '../../dev/temporal/recorded-steps.ts';
import { ORDER_STATUSES, REFUSALS, transitionOf } from '../../src/domain/index.ts';

/** A status in which each operation at the gateway runs, and a dispute that an operator decides. */
const OTHER_PLACES: PhaseFacts[] = [
  {
    status: 'DISPUTE_UNDER_REVIEW',
    pendingOperation: null,
    operatorReview: 'reviewedWithoutEvidence',
  },
  { status: 'ACCEPTED', pendingOperation: { kind: 'closing', cause: 'cancel' } },
  { status: 'DELIVERED', pendingOperation: { kind: 'releasing' } },
  { status: 'DISPUTE_OPEN', pendingOperation: { kind: 'refunding', reason: 'dispute_accepted' } },
];

const nameOf = ({ status, pendingOperation }: PhaseFacts) => pendingOperation?.kind ?? status;
const causeOf = (pendingOperation: PendingOperation) => Object.values(pendingOperation).join(' ');
const name = (from: PhaseFacts, step: string, to: string) => `${nameOf(from)} · ${step} → ${to}`;

/** Every row of the lifecycle's table, by what can be seen of it in a history. */
export function transitionsOfTable(): Set<string> {
  const places = [
    ...ORDER_STATUSES.map((status) => ({ status, pendingOperation: null })),
    ...OTHER_PLACES,
  ];
  const rows = places.flatMap((from) =>
    (Object.keys(REFUSALS) as CommandType[]).flatMap((command) => {
      const row = transitionOf(from, command);
      if (!row) return [];
      if ('begins' in row) return name(from, row.step, causeOf(row.begins));
      if (!('to' in row)) return name(from, row.step, nameOf(from));
      const { to, ifOperatorDecides = to } = row;
      // A PAID order was never disputed: it is DELIVERED once a dispute has ended for the merchant.
      const targets = from.status === 'PAID' ? [to] : [to, ifOperatorDecides];
      return targets.map((target) => name(from, row.step, target));
    }),
  );
  return new Set(rows);
}

/** The transitions that an order took, by the steps in its workflow's history. */
export function transitionsOf(history: object): string[] {
  let from: PhaseFacts = { status: 'ACCEPTED', pendingOperation: null };
  return recordedSteps(history).flatMap((step) => {
    const before = from;
    from = step;
    return name(before, step.kind, targetOf(before, step));
  });
}

function targetOf(before: PhaseFacts, { status, pendingOperation }: PhaseFacts): string {
  return pendingOperation && !before.pendingOperation
    ? causeOf(pendingOperation)
    : nameOf({ status, pendingOperation });
}
