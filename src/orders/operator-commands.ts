import type { z } from 'zod';
import type { Sql } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { OrderCommands } from './commands.ts';
import { requestIdOf } from './commands.ts';
import { findOrderAnywhere } from './find-orders.ts';
import type { Order } from './schemas.ts';
import { decisionSchema, disputeSchema } from './schemas.ts';

export interface OperatorDeps {
  sql: Sql;
  commands: OrderCommands;
  actor: string;
}

/**
 * Raises a dispute for a buyer who asked us to, under the same rules as the buyer's own.
 *
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`, `INVALID_STATE`
 */
export async function raiseDisputeForBuyer(
  { sql, commands, actor }: OperatorDeps,
  orderNumber: string,
  reason: string,
): Promise<Order> {
  const dispute = parseReason(disputeSchema, reason);
  const order = await findOrderAnywhere(sql, orderNumber);
  const requestId = requestIdOf('', undefined);
  const result = await commands.raiseDispute(order, requestId, dispute.reason, actor);
  return result.order;
}

/** An operator's decision of a dispute under review. */
export interface DisputeDecision {
  winner: 'merchant' | 'buyer';
  /** Shown to both sides: to the merchant with the order, to the buyer on the payment page. */
  reason: string;
}

/**
 * Decides a dispute under review. The audit row is written first and names the request: whether
 * the order took it, the step with that request id says.
 *
 * @returns the order: decided for the buyer, it is REFUNDED once the gateway has refunded
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`, `INVALID_STATE`
 */
export async function decideDispute(
  { sql, commands, actor }: OperatorDeps,
  orderNumber: string,
  decision: DisputeDecision,
): Promise<Order> {
  const { winner } = decision;
  const { reason } = parseReason(decisionSchema, decision.reason);
  const order = await findOrderAnywhere(sql, orderNumber);
  const requestId = requestIdOf('', undefined);
  await sql`
    INSERT INTO audit_log (actor, action, merchant_id, subject, details)
    VALUES (${actor}, 'dispute.decide', ${order.merchant_id}, ${orderNumber},
      ${sql.json({ requestId, for: winner, reason })})`;
  const result = await commands.send(order, 'decide', { requestId, for: winner }, { reason });
  return result.order;
}

/** @throws DomainError `BAD_REQUEST` in the words of the rule */
function parseReason(schema: z.ZodType<{ reason: string }>, reason: string): { reason: string } {
  const parsed = schema.safeParse({ reason });
  if (parsed.success) return parsed.data;
  throw new DomainError('BAD_REQUEST', `The reason ${parsed.error.issues[0]?.message}`);
}
