import { z } from 'zod';
import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { envelopeOf, success } from '../http/envelope.ts';
import { replayHeaders, replayHeadersOf } from '../http/idempotency-key.ts';
import { authorizeOrder } from './authorize-order.ts';
import type { OrderCommands } from './commands.ts';
import { EXAMPLE_ORDERS } from './examples.ts';
import type { PresentOrder } from './presenter.ts';
import { commandIdOf } from './command-ids.ts';
import type { OrderRow } from './rows.ts';
import { orderSchema } from './schemas.ts';
import type { CommandResult } from './send-command.ts';

/** The dependencies of the routes of orders. */
export interface OrderRouteDeps {
  sql: Sql;
  commands: OrderCommands;
  present: PresentOrder;
}

/** The declaration that a merchant's routes share. */
export const merchantRoute = { base: 'merchant', caller: 'merchant', tags: ['Orders'] } as const;
/** The path parameters of a route on one order. */
export const orderParams = z.object({
  id: z
    .string()
    .meta({ description: 'The order number', example: EXAMPLE_ORDERS.created.order_number }),
});
/** The response that shows an order. */
export const orderResponse = { description: 'The order', schema: envelopeOf(orderSchema) };

/** The response to a command, which a client may repeat with the same Idempotency-Key. */
export const commandResponse = { ...orderResponse, headers: replayHeaders };

/** The parts of a command's HTTP request that name the order and the command. */
interface CommandRequest {
  readonly params: { id: string };
  readonly headers: { 'Idempotency-Key'?: string | undefined };
  readonly merchant: { readonly id: string };
  readonly environment: Environment;
}

/**
 * Finds the order of a command, and makes the id of the command.
 *
 * @param operation part of the id: see {@link commandIdOf}
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`
 */
export async function authorizeCommand(
  sql: Sql,
  { params, headers, merchant, environment }: CommandRequest,
  operation: string,
): Promise<{ order: OrderRow; commandId: string }> {
  const order = await authorizeOrder(sql, merchant.id, environment, params.id);
  return { order, commandId: commandIdOf(order, operation, headers['Idempotency-Key']) };
}

/** @param message the `message` of the envelope */
export function commandReply(message: string, result: CommandResult) {
  const body = success(message, result.order);
  return { status: 200, body, headers: replayHeadersOf(result) } as const;
}
