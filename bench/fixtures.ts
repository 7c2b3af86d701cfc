import { randomUUID } from 'node:crypto';
import type { Sql } from '../src/db/client.ts';
import { changeMerchantStatus, createMerchant } from '../src/merchants/commands.ts';
import { newOrderOf, insertOrder } from '../src/orders/commands/create-order.ts';
import type { NewOrder } from '../src/orders/commands/create-order.ts';
import type { PresentOrder } from '../src/orders/presenter.ts';
import type { OrderRow } from '../src/orders/rows.ts';

export const ORDER = {
  amount: 499.5,
  buyerEmail: 'asha@example.com',
  buyerPhone: '+919876543210',
  description: 'Blue kurta, size M',
};

/** The same body after validation. */
const VALID_ORDER = { ...ORDER, buyerName: null, merchantOrderId: null, currency: null };

export const DAY_MS = 24 * 3_600_000;
export const DURATIONS = {
  paymentLinkMs: DAY_MS,
  completionWindowMs: DAY_MS,
  disputeAnswerMs: 3 * DAY_MS,
};

/** Creates an approved merchant. @returns its id */
export async function registerMerchant(sql: Sql): Promise<string> {
  const admin = { sql, actor: { name: 'bench', address: null } };
  const merchant = { name: 'Benchmark', email: 'bench@example.com' };
  const { merchantId } = await createMerchant(admin, merchant);
  await changeMerchantStatus(admin, merchantId, 'approve');
  return merchantId;
}

export function newSandboxOrder(merchantId: string): NewOrder {
  const environment = 'sandbox' as const;
  const request = { merchantId, environment, idempotencyKey: randomUUID(), body: VALID_ORDER };
  return newOrderOf(request, DURATIONS);
}

/** Inserts a sandbox order as POST /orders does, without starting its workflow. */
export async function writeOrder(
  { sql, present }: { sql: Sql; present: PresentOrder },
  merchantId: string,
): Promise<OrderRow> {
  const { paymentLinkMs } = DURATIONS;
  const wait = { paymentLinkMs, wakeAfterMs: DAY_MS, present };
  return (await insertOrder(sql, newSandboxOrder(merchantId), wait)).order;
}
