import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import type { RecordStepInput } from '../../src/contracts/activities.ts';
import type { OrderMessageName } from '../../src/contracts/order-workflow.ts';
import type { Actor } from '../../src/db/actor.ts';
import type { Command } from '../../src/domain/index.ts';
import { firstChange, decide, stateAfter } from '../../src/domain/index.ts';
import { newCommandId, writeCommand } from '../../src/orders/commands/command-queries.ts';
import { newOrderOf, insertOrder } from '../../src/orders/commands/create-order.ts';
import { DEFAULT_REASON } from '../../src/orders/commands/send-command.ts';
import type { CommandBody } from '../../src/orders/rows.ts';
import type { DemoDeps, DemoOrder } from './deps.ts';
import type { Story } from './stories.ts';
import { TERMS } from './stories.ts';

/** The orders are woken when all of the past is written. */
export const WAKE_AFTER_MS = 0;

/** Creates an order, as the API does. */
export async function create(deps: DemoDeps, story: Story): Promise<DemoOrder> {
  const { sql, clock, present, merchant } = deps;
  const { buyer, item, merchantOrderId } = story;
  const newOrder = newOrderOf(
    {
      merchantId: merchant.merchantId,
      environment: 'sandbox',
      idempotencyKey: randomUUID(),
      body: { ...buyer, ...item, merchantOrderId },
    },
    TERMS,
  );
  const { order: row } = await insertOrder(
    sql,
    { ...newOrder, orderNumber: `ORD${ulid(clock.nowMs())}` },
    { paymentLinkMs: TERMS.paymentLinkMs, wakeAfterMs: WAKE_AFTER_MS, present },
  );
  const linkEndsMs = row.paymentLinkExpiresAt.getTime();
  const { state } = firstChange(row.terms, row.createdAt.getTime(), linkEndsMs);
  return { row, state, story };
}

/** Decides a command and records its step, as the workflow does. */
export async function record(
  { recordStep, clock }: DemoDeps,
  order: DemoOrder,
  command: Command,
  more: Pick<RecordStepInput, 'commandId' | 'payment'> = {},
): Promise<void> {
  const { orderNumber } = order.row;
  const decision = decide(order.state, command, clock.nowMs());
  if (decision.outcome === 'refused') throw decision.error;
  const { outcome: _changed, state: _state, ...change } = decision;
  const { step } = change;
  const result = await recordStep({ orderNumber, commandType: command.type, ...change, ...more });
  if (result.outcome !== 'recorded') {
    throw new Error(`${step.kind} of ${orderNumber} was not recorded: ${result.outcome}`);
  }
  order.state = stateAfter(order.state, result.recorded.step);
}

/** A command of a person: its row, then its step. */
export async function carryOut(
  deps: DemoDeps,
  order: DemoOrder,
  by: { name: OrderMessageName; actor: Actor; body?: CommandBody; commandId?: string },
  made: Command,
): Promise<void> {
  const { name, actor, body = {}, commandId = newCommandId() } = by;
  const { orderNumber } = order.row;
  const origin = { actor, reason: String(body['reason'] ?? DEFAULT_REASON) };
  await writeCommand(deps.sql, { orderNumber, commandId, name, body, origin });
  await record(deps, order, made, { commandId });
}
