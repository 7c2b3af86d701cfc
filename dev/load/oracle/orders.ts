import { isDeepStrictEqual } from 'node:util';
import { isFinal } from '../../../src/domain/index.ts';
import { commandIdOf } from '../../../src/orders/commands/command-ids.ts';
import type { AcknowledgedOrder } from '../memory.ts';
import { replay } from './replay.ts';
import { violation, type Violation } from './report.ts';
import type { ComparedOrder, ComparedStep, Rows } from './rows.ts';
import type { Compared } from './compared.ts';
import { isLost, type Allowed } from './service.ts';

/** What merchants were answered, against the rows: orders, commands, and one order for each key. */
export function acknowledgedViolations({
  memory: { orders },
  rows,
  allowed,
}: Compared): Violation[] {
  const keys = new Set(orders.map((order) => keyOf(order)));
  const merchants = new Set(orders.map(({ merchantId }) => merchantId));
  const byKey = Map.groupBy(rows.orders.values(), keyOf);
  const unknown = [...rows.orders.values()]
    .filter((row) => merchants.has(row.merchantId) && !keys.has(keyOf(row)))
    .map(({ orderNumber }) =>
      violation('duplicate', orderNumber, 'its merchant never sent its key'),
    );
  const several = [...byKey]
    .filter(([, found]) => found.length > 1)
    .map(([key, found]) => violation('duplicate', key, `the key has ${found.length} orders`));
  return [
    ...unknown,
    ...several,
    ...orders.flatMap((order) => violationsOfOrder(order, rows, allowed)),
  ];
}

const keyOf = ({ merchantId, idempotencyKey }: ComparedOrder | AcknowledgedOrder) =>
  `${merchantId} ${idempotencyKey}`;

function violationsOfOrder(order: AcknowledgedOrder, rows: Rows, allowed: Allowed): Violation[] {
  const { orderNumbers, finalStatus } = order;
  const [orderNumber] = orderNumbers;
  if (orderNumber === undefined) return [];
  const row = rows.orders.get(orderNumber);
  if (row === undefined) return [violation('lost', orderNumber, 'its creation was acknowledged')];
  const isOwn = keyOf(row) === keyOf(order);
  return [
    !isOwn && violation('duplicate', orderNumber, `was answered to another key, ${keyOf(order)}`),
    orderNumbers.size > 1 &&
      violation('duplicate', orderNumber, `its key was also answered ${[...orderNumbers].at(-1)}`),
    finalStatus !== undefined &&
      row.status !== finalStatus &&
      violation('status', orderNumber, `is ${row.status}, and must be ${finalStatus}`),
    ...order.commands
      .filter(({ atMs }) => !isLost(allowed, atMs))
      .filter(
        ({ operation, result }) =>
          allowed.laterPayments !== true || operation !== 'pay' || result !== 'refused',
      )
      .map((command) => violationOfCommand(command, row, rows)),
  ].filter((found) => found !== false);
}

function violationOfCommand(
  { operation, idempotencyKey, step, result }: AcknowledgedOrder['commands'][number],
  row: ComparedOrder,
  { steps }: Rows,
): Violation | false {
  const { orderNumber } = row;
  const commandId = commandIdOf(row, operation, idempotencyKey);
  const kinds = (steps.get(orderNumber) ?? [])
    .filter((one) => one.commandId === commandId)
    .map(({ kind }) => kind);
  if (result === 'refused') {
    return (
      kinds.length > 0 &&
      violation('surprise', orderNumber, `${operation} was refused, and has ${kinds.join(', ')}`)
    );
  }
  if (kinds.length === 0) {
    return violation('lost', orderNumber, `${operation} was acknowledged, and has no step`);
  }
  const isOnce = kinds.length === 1 && kinds[0] === step;
  return (
    !isOnce && violation('duplicate', orderNumber, `${operation} has the steps ${kinds.join(', ')}`)
  );
}

/** The steps of each order, replayed with the domain's rules, and the row against the last of them. */
export function transitionViolations({ rows }: Compared): Violation[] {
  return [...rows.orders.values()].flatMap((row) => {
    const { orderNumber, stepNumber } = row;
    const steps = rows.steps.get(orderNumber) ?? [];
    const isGapless = steps.every((step, index) => step.stepNumber === index + 1);
    if (!isGapless || steps.length !== stepNumber) {
      const numbers = steps.map((step) => step.stepNumber).join(', ');
      return violation('illegal', orderNumber, `has step ${stepNumber}, and the steps ${numbers}`);
    }
    const { state, fault } = replay(row, steps);
    if (fault !== undefined) return violation('illegal', orderNumber, fault);
    const differing = differenceOf(row, steps) ?? (state ? undefined : 'has no step');
    return differing === undefined ? [] : violation('illegal', orderNumber, differing);
  });
}

/** Orders that wait for nothing that a run would bring. */
export function restViolations({ rows, allowed: { restsIn } }: Compared): Violation[] {
  if (restsIn === undefined) return [];
  return [...rows.orders.values()]
    .filter(({ status }) => !isFinal(status) && !restsIn.includes(status))
    .map(({ orderNumber, status }) => violation('under way', orderNumber, `is still ${status}`));
}

/** How the row differs from its last step; undefined if it does not. */
function differenceOf(row: ComparedOrder, steps: readonly ComparedStep[]): string | undefined {
  const odd = steps.find(
    ({ step, kind, status, stepNumber }) =>
      step.kind !== kind || step.status !== status || step.number !== stepNumber,
  );
  if (odd) return `the columns of step ${odd.stepNumber} differ from its JSON`;
  const step = steps.at(-1)?.step;
  const { status, pendingOperation, disputeCount } = row;
  const ofRow = { status, pendingOperation, disputeCount, deadlineAtMs: deadlineOf(row, step) };
  const ofStep = step && {
    status: step.status,
    pendingOperation: step.pendingOperation,
    disputeCount: step.disputeCount,
    deadlineAtMs: step.deadline?.atMs,
  };
  if (isDeepStrictEqual(ofRow, ofStep)) return undefined;
  return `its row says ${JSON.stringify(ofRow)}, its last step ${JSON.stringify(ofStep)}`;
}

/** The column of the row that has the deadline of the step. */
function deadlineOf(row: ComparedOrder, step: ComparedStep['step'] | undefined) {
  switch (step?.deadline?.kind) {
    case 'payment_link':
      return row.paymentLinkExpiresAt.getTime();
    case 'completion':
      return row.completesAt?.getTime();
    case 'dispute_answer':
      return row.disputeRespondBy?.getTime();
    case undefined:
      return undefined;
  }
}
