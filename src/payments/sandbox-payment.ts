import { randomUUID } from 'node:crypto';
import type { Sql } from '../db/client.ts';
import { DomainError, REFUSALS } from '../domain/index.ts';
import type { OrderCommands } from '../orders/commands.ts';
import type { OrderRow } from '../orders/rows.ts';
import type { Order } from '../orders/schemas.ts';

/** Pays a sandbox order without a gateway: writes the capture into the book and tells the order. */
export function createSandboxPayment(deps: { sql: Sql; commands: OrderCommands }) {
  return async function pay(order: OrderRow, requestId: string): Promise<Order> {
    if (order.status !== 'ACCEPTED') throw new DomainError('INVALID_STATE', REFUSALS.pay);
    const gatewayPaymentId = `pay_${randomUUID()}`;
    await deps.sql`
      INSERT INTO payments (gateway_payment_id, environment, order_number, amount_paise)
      VALUES (${gatewayPaymentId}, 'sandbox', ${order.order_number}, ${order.amount_paise})`;
    return deps.commands.send(order, 'pay', { requestId, gatewayPaymentId });
  };
}
