import type { Sql } from '../../src/db/client.ts';
import type { OrderStatus } from '../../src/domain/index.ts';

const HELD = ['PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'];

/** One order of at least 100 rupees in each status, with its expected ledger lines. */
const ORDERS: readonly [string, OrderStatus, number][] = [
  ['ORD_ACCEPTED', 'ACCEPTED', 10_000],
  ['ORD_PAID', 'PAID', 10_001],
  ['ORD_DELIVERED', 'DELIVERED', 10_010],
  ['ORD_DISPUTE_OPEN', 'DISPUTE_OPEN', 10_100],
  ['ORD_REVIEW', 'DISPUTE_UNDER_REVIEW', 11_000],
  ['ORD_COMPLETED', 'COMPLETED', 20_000],
  ['ORD_REFUNDED', 'REFUNDED', 30_000],
  ['ORD_CANCELLED', 'CANCELLED', 40_000],
];

async function writeOrder(sql: Sql, number: string, status: OrderStatus, amountPaise: number) {
  const isPaid = [...HELD, 'COMPLETED', 'REFUNDED'].includes(status);
  const isRefunded = status === 'REFUNDED';
  await sql`
    INSERT INTO orders (order_number, merchant_id, environment, gateway, idempotency_key, request_hash,
      amount_paise, description, buyer_email, buyer_phone, payment_token, status, step_number,
      gateway_payment_id, refund_amount_paise, refund_processed_at,
      payment_link_expires_at, terms, created_at, updated_at)
    VALUES (${number}, 'mer_1', 'sandbox', 'razorpay', ${number}, '\\x00', ${amountPaise}, 'd', 'b', 'p',
      ${number}, ${status}, 1, ${isPaid ? `pay_${number}` : null},
      ${isRefunded ? amountPaise : null}, ${isRefunded ? new Date() : null},
      now(), '{}', now(), now())`;
  if (!isPaid) return;
  await writeCapture(sql, number, `pay_${number}`, amountPaise, 'merchant_held');
  if (status === 'COMPLETED') {
    await writeLine(sql, number, 'release', 'merchant_held', 'merchant_available');
  }
  if (isRefunded) await writeLine(sql, number, 'refund', 'merchant_held', 'refunds');
}

async function writeCapture(
  sql: Sql,
  order: string,
  payment: string,
  amountPaise: number,
  to: string,
): Promise<void> {
  await sql`
    INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise,
      captured_at)
    VALUES ('razorpay', ${payment}, 'sandbox', ${order}, ${amountPaise}, now() - interval '1 hour')`;
  await writeLine(sql, order, 'capture', 'gateway_clearing', to, payment);
}

async function writeLine(
  sql: Sql,
  order: string,
  operation: string,
  from: string,
  to: string,
  payment = `pay_${order}`,
): Promise<void> {
  await sql`
    INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number,
      merchant_id, environment, debit_account, credit_account, amount_paise)
    SELECT gateway, gateway_payment_id, ${operation}, order_number, 'mer_1', environment, ${from}, ${to},
      amount_paise
    FROM payments WHERE gateway_payment_id = ${payment}`;
}

async function writeSurplus(sql: Sql, payment: string, isGivenBack: boolean): Promise<void> {
  await writeCapture(sql, 'ORD_CANCELLED', payment, 40_000, 'surplus');
  await sql`
    INSERT INTO surplus_refunds (gateway, gateway_payment_id, order_number, amount_paise, reason,
      processed_at)
    VALUES ('razorpay', ${payment}, 'ORD_CANCELLED', 40000, 'late_payment',
      ${isGivenBack ? new Date() : null})`;
  if (isGivenBack) await writeLine(sql, 'ORD_CANCELLED', 'refund', 'surplus', 'refunds', payment);
}

/** Writes a consistent ledger directly, without the days that its orders would take. */
export async function writeSoundLedger(sql: Sql): Promise<void> {
  await sql`
    INSERT INTO merchants (merchant_id, name, email)
    VALUES ('mer_1', 'A', 'a@example.com'), ('mer_2', 'B', 'b@example.com')`;
  for (const [number, status, amountPaise] of ORDERS) {
    await writeOrder(sql, number, status, amountPaise);
  }
  await writeSurplus(sql, 'pay_waiting', false);
  await writeSurplus(sql, 'pay_given_back', true);
}
