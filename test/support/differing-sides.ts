/** Makes an order's row and its workflow differ, as failures and restored backups do: docs/adr/0011. */
import type { TransactionSql } from 'postgres';
import { expect } from 'vitest';
import type { RecordStepInput } from '../../src/contracts/activities.ts';
import type { Change, Command, OrderState, Step } from '../../src/domain/index.ts';
import { firstChange, decide, stateAfter } from '../../src/domain/index.ts';
import type { Sql } from '../../src/db/client.ts';
import { createStepRecorder } from '../../src/orders/steps/record-step.ts';
import type { DirectOrder } from './orders.ts';
import type { TestService } from './service.ts';

/** The order after its last step in the database. */
async function stateOf(
  service: TestService,
  { orderNumber, row }: DirectOrder,
): Promise<OrderState> {
  const [last] = await service.sql<{ step: Step; events: number }[]>`
    SELECT step, (SELECT count(*) FROM order_events WHERE order_number = ${orderNumber}) AS events
    FROM order_steps WHERE order_number = ${orderNumber} ORDER BY step_number DESC LIMIT 1`;
  const { step, events } = last!;
  const { terms } = await row();
  const created = firstChange(terms, 0, 0).state;
  return { ...stateAfter(created, step), eventSequence: events };
}

/** The service whose steps of {@link writeAsLost} are written in a transaction, without mails. */
export function inTransaction(service: TestService, transaction: TransactionSql): TestService {
  const sql = transaction as unknown as Sql;
  return { ...service, sql, deps: { ...service.deps, sql, orderMails: undefined } };
}

const DAY_MS = 86_400_000;

/** Does what a lost workflow task does: its step is recorded, and its Update is lost. The command's line stays. */
export async function writeAsLost(
  service: TestService,
  { orderNumber }: DirectOrder,
  { step }: Change,
  of: Pick<RecordStepInput, 'commandId' | 'payment' | 'ifNoSessionOpen'>,
): Promise<void> {
  const recordStep = createStepRecorder({ ...service.deps, firstAttempt: { wakeAfterMs: DAY_MS } });
  const result = await recordStep({ orderNumber, step, ...of });
  expect(result.outcome).toBe('recorded');
  const { commandId } = of;
  if (commandId === undefined) return;
  await service.sql`
    INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
    VALUES (${orderNumber}, 'command', ${commandId}, service_now()) ON CONFLICT DO NOTHING`;
}

/** What a command changes in the order as the database has it. */
export async function changeOf(
  service: TestService,
  order: DirectOrder,
  command: Command,
  nowMs = Date.now(),
): Promise<Change> {
  const decision = decide(await stateOf(service, order), command, nowMs);
  if (decision.outcome === 'changed') return decision;
  throw decision.error;
}

/**
 * Makes the order's next event impossible to write: another event already has its number.
 *
 * @returns a function that repairs it
 */
export async function breakNextEvent({ sql }: TestService, { orderNumber }: DirectOrder) {
  const eventId = `evt_broken_${orderNumber}`;
  await sql`
    INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
    SELECT ${eventId}, order_number, max(sequence) + 1, 1, 'ORDER_CREATED', now(), '{}'
    FROM order_events WHERE order_number = ${orderNumber} GROUP BY order_number`;
  return () => sql`DELETE FROM order_events WHERE event_id = ${eventId}`;
}
