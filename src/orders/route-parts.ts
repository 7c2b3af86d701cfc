import { z } from 'zod';
import type { Sql } from '../db/client.ts';
import { envelopeOf, success } from '../http/envelope.ts';
import { replayHeaders, replayHeadersOf } from '../http/idempotency-key.ts';
import type { OrderCommands } from './commands.ts';
import { EXAMPLE_ORDERS } from './examples.ts';
import type { PresentOrder } from './presenter.ts';
import { orderSchema } from './schemas.ts';
import type { CommandResult } from './send-command.ts';

/** What the routes of orders need. */
export interface OrderRouteDeps {
  sql: Sql;
  commands: OrderCommands;
  present: PresentOrder;
}

/** What they have in common: who may call, which order, what it answers. */
export const merchantRoute = { base: 'merchant', caller: 'merchant', tags: ['Orders'] } as const;
export const orderParams = z.object({
  id: z
    .string()
    .meta({ description: 'The order number', example: EXAMPLE_ORDERS.created.order_number }),
});
export const orderErrors = ['ORDER_NOT_FOUND', 'ORDER_NOT_YOURS'] as const;
export const orderAnswer = { description: 'The order', schema: envelopeOf(orderSchema) };

/** The answer to a command, which a client may repeat with the same Idempotency-Key. */
export const commandAnswer = { ...orderAnswer, headers: replayHeaders };
export function commandReply(message: string, result: CommandResult) {
  const body = success(message, result.order);
  return { status: 200, body, headers: replayHeadersOf(result) } as const;
}
