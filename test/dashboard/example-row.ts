import { newOrderOf, INITIAL_COLUMNS } from '../../src/orders/commands/create-order.ts';
import type { OrderRow } from '../../src/orders/rows.ts';

const AT = new Date('2026-11-22T09:00:00Z');
const DAY_MS = 86_400_000;

const request = {
  merchantId: 'mer_1',
  environment: 'sandbox' as const,
  idempotencyKey: 'key',
  body: {
    amount: 499.5,
    buyerEmail: 'asha@example.com',
    buyerPhone: '+919876543210',
    description: 'Blue kurta, size M',
    buyerName: null,
    merchantOrderId: null,
    currency: null,
  },
};

/** A sandbox order of ₹499.50, for tests of functions of a row. */
export const EXAMPLE_ROW: OrderRow = {
  ...newOrderOf(request, { completionWindowMs: DAY_MS, disputeAnswerMs: 3 * DAY_MS }),
  ...INITIAL_COLUMNS,
  gateway: 'razorpay',
  paymentLinkExpiresAt: AT,
  createdAt: AT,
  updatedAt: AT,
};
