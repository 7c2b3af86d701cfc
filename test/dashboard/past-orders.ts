import { randomUUID } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { newOrderOf } from '../../src/orders/create-order.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { anOrder } from '../support/api-client.ts';

export const HOUR_MS = 3_600_000;
const DURATIONS = { completionWindowMs: 24 * HOUR_MS, disputeAnswerMs: 72 * HOUR_MS };

export const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!;

/** Inserts a merchant without keys. @returns its id */
export async function writeMerchant(sql: Sql): Promise<string> {
  const merchantId = `mer_${randomUUID()}`;
  await sql`INSERT INTO merchants (merchant_id, name, email, status)
    VALUES (${merchantId}, 'A', 'a@example.com', 'APPROVED')`;
  return merchantId;
}

/** What distinguishes an order that a test writes; the rest is the same for all. */
export type PastOrder = Partial<Omit<OrderRow, 'requestHash' | 'terms' | 'pendingOperation'>>;

/** Inserts orders as they are after their steps, without workflows. */
export async function writePastOrders(
  sql: Sql,
  merchantId: string,
  orders: readonly PastOrder[],
): Promise<void> {
  const rows = orders.map((order) => {
    const { environment = 'sandbox', createdAt: at = new Date() } = order;
    const request = { merchantId, environment, idempotencyKey: randomUUID(), body: anOrder() };
    const { terms, ...newOrder } = newOrderOf(
      {
        ...request,
        body: { ...request.body, buyerName: null, merchantOrderId: null, currency: null },
      },
      DURATIONS,
    );
    const times = { createdAt: at, updatedAt: at, paymentLinkExpiresAt: at };
    const common = { gateway: 'razorpay', status: pick(ORDER_STATUSES), ...times };
    return { ...newOrder, ...common, ...order, terms: sql.json({ ...terms }) };
  });
  for (const row of rows) await sql`INSERT INTO orders ${sql(row)}`;
}
