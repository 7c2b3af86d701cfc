import type { PendingOperation, CommandType, Step } from '../../src/domain/index.ts';
import { recordedSteps } from '../../dev/temporal/recorded-steps.ts';
import { ORDER_STATUSES, REFUSALS, transitionOf } from '../../src/domain/index.ts';

type Place = Pick<Step, 'status' | 'pendingOperation'>;

/** A status in which each operation at the gateway runs. */
const OPERATIONS: Place[] = [
  { status: 'ACCEPTED', pendingOperation: { kind: 'closing', cause: 'cancel' } },
  { status: 'DELIVERED', pendingOperation: { kind: 'releasing' } },
  { status: 'DISPUTE_OPEN', pendingOperation: { kind: 'refunding', reason: 'dispute_accepted' } },
];

const nameOf = ({ status, pendingOperation }: Place) => pendingOperation?.kind ?? status;
const causeOf = (pendingOperation: PendingOperation) => Object.values(pendingOperation).join(' ');
const name = (from: Place, step: string, to: string) => `${nameOf(from)} · ${step} → ${to}`;

/** Every row of the lifecycle's table, by what can be seen of it in a history. */
export function transitionsOfTable(): Set<string> {
  const places = [
    ...ORDER_STATUSES.map((status) => ({ status, pendingOperation: null })),
    ...OPERATIONS,
  ];
  const rows = places.flatMap((from) =>
    (Object.keys(REFUSALS) as CommandType[]).flatMap((command) => {
      const row = transitionOf(from, command);
      if (!row) return [];
      if ('begins' in row) return name(from, row.step, causeOf(row.begins));
      return name(from, row.step, 'to' in row ? row.to : nameOf(from));
    }),
  );
  return new Set(rows);
}

/** The transitions that an order took, by the steps in its workflow's history. */
export function transitionsOf(history: object): string[] {
  let from: Place = { status: 'ACCEPTED', pendingOperation: null };
  return recordedSteps(history).flatMap((step) => {
    const before = from;
    from = step;
    return name(before, step.kind, targetOf(before, step));
  });
}

function targetOf(before: Place, { status, pendingOperation }: Place): string {
  return pendingOperation && !before.pendingOperation
    ? causeOf(pendingOperation)
    : nameOf({ status, pendingOperation });
}
