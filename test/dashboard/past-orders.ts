import { randomUUID } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { newOrderOf } from '../../src/orders/commands/create-order.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import type { NO_DISPUTE } from '../../src/orders/steps/step-columns.ts';
import { anOrder } from '../support/api-client.ts';

export const HOUR_MS = 3_600_000;
const DURATIONS = { completionWindowMs: 24 * HOUR_MS, disputeAnswerMs: 72 * HOUR_MS };

let state = 20_261_122;

/** Numbers from 0 to below 1, the same in every run (xorshift). */
export function random(): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 2 ** 32;
}

export const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

/** Inserts a merchant without keys. @returns its id */
export async function writeMerchant(sql: Sql): Promise<string> {
  const merchantId = `mer_${randomUUID()}`;
  await sql`INSERT INTO merchants (merchant_id, name, email, status)
    VALUES (${merchantId}, 'A', 'a@example.com', 'APPROVED')`;
  return merchantId;
}

type Unwritten = 'requestHash' | 'terms' | 'pendingOperation' | keyof typeof NO_DISPUTE;

/** What distinguishes an order that a test writes; the rest is the same for all. */
export type PastOrder = Partial<Omit<OrderRow, Unwritten>> & {
  /** The only dispute of the order. */
  dispute?: { raisedAt?: Date; respondBy?: Date; evidenceAt?: Date; endedAt?: Date };
};

/** Inserts orders as they are after their steps, without workflows. */
export async function writePastOrders(
  sql: Sql,
  merchantId: string,
  orders: readonly PastOrder[],
): Promise<void> {
  const rows = orders.map(({ dispute, ...order }) => {
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
    const disputeCount = dispute ? 1 : 0;
    const row = { ...newOrder, ...common, disputeCount, ...order, terms: sql.json({ ...terms }) };
    return { row, dispute };
  });
  for (const { row, dispute } of rows) {
    await sql`INSERT INTO orders ${sql(row)}`;
    const { orderNumber, environment } = row;
    const ofOrder = { orderNumber, number: 1, merchantId, environment, raisedBy: 'buyer' };
    if (dispute)
      await sql`INSERT INTO disputes ${sql({ ...ofOrder, raisedAt: new Date(), ...dispute })}`;
  }
}
