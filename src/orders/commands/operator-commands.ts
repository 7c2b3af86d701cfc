import type { z } from 'zod';
import type { Actor } from '../../db/actor.ts';
import type { Alongside, Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { isRecorded, newCommandId } from './command-queries.ts';
import type { SendDeps } from './send-command.ts';
import { raiseDispute, sendCommand } from './send-command.ts';
import { findOrderAnywhere } from '../find-order.ts';
import type { OrderRow } from '../rows.ts';
import type { Order } from '../schemas.ts';
import type { WakeDeps } from '../wake/wake-order.ts';
import { wakeOrder } from '../wake/wake-order.ts';
import { decisionSchema, disputeSchema, refundSchema } from '../schemas.ts';

export interface OperatorDeps extends SendDeps {
  actor: Actor;
  /** Give the same id for a repeat. A new one is made if absent. */
  commandId?: string | undefined;
  alongside?: Alongside | undefined;
}

/**
 * Raises a dispute at a buyer's request. The buyer's limits do not apply.
 *
 * @param mostPerDay how many the operator may raise in 24 hours; no limit if absent
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`, `INVALID_STATE`
 */
export async function raiseDisputeForBuyer(
  deps: SendDeps & Pick<OperatorDeps, 'actor'>,
  orderNumber: string,
  reason: string,
  mostPerDay?: number,
): Promise<Order> {
  const dispute = parseReason(disputeSchema, reason);
  const result = await raiseDispute(deps, {
    orderNumber,
    commandId: newCommandId(),
    reason: dispute.reason,
    actor: deps.actor,
    isForBuyer: true,
    mostPerDay,
  });
  return result.order;
}

/**
 * Decides a dispute, with or without evidence.
 *
 * @param decision.reason shown to the merchant with the order, and to the buyer on the payment page
 * @returns the order; after a decision for the buyer it becomes REFUNDED once the gateway has refunded
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`, `INVALID_STATE`
 */
export async function decideDispute(
  { actor, commandId = newCommandId(), alongside, ...deps }: OperatorDeps,
  orderNumber: string,
  decision: { winner: 'merchant' | 'buyer'; reason: string },
): Promise<Order> {
  const { winner } = decision;
  const { reason } = parseReason(decisionSchema, decision.reason);
  const result = await sendCommand(deps, {
    orderNumber,
    commandId,
    name: 'decide',
    message: { for: winner },
    body: { reason, for: winner },
    actor,
    alongside,
  });
  return result.order;
}

/** True for an approved merchant, who can refund its orders itself. */
export async function canMerchantRefund(
  sql: Sql,
  { merchantId }: Pick<OrderRow, 'merchantId'>,
): Promise<boolean> {
  const rows = await sql`
    SELECT FROM shared.merchants WHERE merchant_id = ${merchantId} AND status = 'APPROVED'`;
  return rows.length > 0;
}

export async function assertMerchantCannotRefund(
  sql: Sql,
  order: Pick<OrderRow, 'merchantId'>,
): Promise<void> {
  if (!(await canMerchantRefund(sql, order))) return;
  const message = 'Cannot refund for the merchant; it is approved and can refund the order itself';
  throw new DomainError('INVALID_STATE', message);
}

/**
 * Refunds an order that its merchant cannot refund, such as that of a suspended merchant.
 *
 * @returns the order; it becomes REFUNDED once the gateway has refunded
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`, `INVALID_STATE`
 */
export async function refundForMerchant(
  { actor, commandId = newCommandId(), alongside, ...deps }: OperatorDeps,
  orderNumber: string,
  givenReason: string,
): Promise<Order> {
  const { reason } = parseReason(refundSchema, givenReason);
  const order = await findOrderAnywhere(deps.sql, orderNumber);
  // A repeat of a recorded command is carried out whatever the merchant's status is now.
  if (!(await isRecorded(deps.sql, { orderNumber, commandId }))) {
    await assertMerchantCannotRefund(deps.sql, order);
  }
  const result = await sendCommand(deps, {
    orderNumber,
    commandId,
    name: 'refund',
    message: {},
    body: { reason },
    actor,
    alongside,
  });
  return result.order;
}

/**
 * Wakes an order at an operator's request: see {@link wakeOrder}. Because this is not a command, it first inserts a
 * row in the audit log.
 *
 * @throws DomainError `ORDER_NOT_FOUND`
 */
export async function recoverForOperator(
  deps: WakeDeps & Pick<OperatorDeps, 'actor'>,
  orderNumber: string,
): Promise<Awaited<ReturnType<typeof wakeOrder>>> {
  const { sql, actor } = deps;
  const { merchantId } = await findOrderAnywhere(sql, orderNumber);
  await sql`
    INSERT INTO audit_log (actor, address, action, merchant_id, subject)
    VALUES (${actor.name}, ${actor.address}, 'order.recover', ${merchantId}, ${orderNumber})`;
  return wakeOrder(deps, orderNumber);
}

/** @throws DomainError `BAD_REQUEST` with the message of the violated rule */
function parseReason(schema: z.ZodType<{ reason: string }>, reason: string): { reason: string } {
  const parsed = schema.safeParse({ reason });
  if (parsed.success) return parsed.data;
  throw new DomainError('BAD_REQUEST', `The reason ${parsed.error.issues[0]?.message}`);
}
