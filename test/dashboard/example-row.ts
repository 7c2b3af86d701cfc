import { newOrderOf } from '../../src/orders/commands/create-order.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { NO_DISPUTE } from '../../src/orders/steps/step-columns.ts';

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
  ...NO_DISPUTE,
  gateway: 'razorpay',
  buyerLanguage: 'en',
  status: 'ACCEPTED',
  pendingOperation: null,
  stepNumber: 1,
  disputeCount: 0,
  gatewayPaymentId: null,
  paymentUtr: null,
  reversedPaise: 0,
  paidAt: null,
  paymentLinkExpiresAt: AT,
  completesAt: null,
  refundAmountPaise: null,
  refundReason: null,
  refundProcessedAt: null,
  cancelledBy: null,
  cancelReason: null,
  cancelledAt: null,
  waitingDisputeId: null,
  waitingDisputeReceivedAt: null,
  openSessionId: null,
  erasedAt: null,
  createdAt: AT,
  updatedAt: AT,
};
