import { ulid } from 'ulid';
import type { PaymentRef } from '../../src/contracts/ids.ts';
import type { RefundReason } from '../../src/domain/index.ts';
import { moneyKey } from '../../src/payments/gateway/gateway.ts';
import { endMoneyLease } from '../../src/payments/funds/money-lease.ts';
import { writeCapture } from '../../src/payments/captures/capture-queries.ts';
import {
  bookMovement,
  claimHold,
  markHeld,
  saveLinkedAccount,
} from '../../src/payments/funds/funds-queries.ts';
import { writeReversal } from '../../src/payments/reversals/reversal-queries.ts';
import { markSessionOpen, reserveSession } from '../../src/payments/sessions/session-queries.ts';
import { razorpay } from '../../src/payments/razorpay/adapter.ts';
import { presentChargeback, presentPayment } from '../../src/payments/razorpay/present.ts';
import { createAccount } from '../gateway-simulator/operations/accounts.ts';
import { addToBalance } from '../gateway-simulator/operations/balance.ts';
import { openDispute, updateDisputeStatus } from '../gateway-simulator/operations/disputes.ts';
import { FAILURE_VPA, payQrCode } from '../gateway-simulator/operations/payments.ts';
import { createQrCode } from '../gateway-simulator/operations/qr-codes.ts';
import { refundPayment } from '../gateway-simulator/operations/refunds.ts';
import {
  createTransfers,
  holdTransfer,
  transfersOf,
} from '../gateway-simulator/operations/transfers.ts';
import type { DemoDeps, DemoOrder } from './deps.ts';

/** The gateway of the demo orders. */
export const AT = { gateway: razorpay.name, environment: 'sandbox' } as const;
const SESSION_MS = 15 * 60_000;

/** The merchant's account of the sandbox, which is opened when it is first needed. */
async function accountOf({ sql, demoGateway: { gateway }, merchant }: DemoDeps): Promise<string> {
  const [known] = gateway.store.all('accounts');
  if (known) return known.entity.id;
  const { id } = createAccount(gateway, {
    type: 'route',
    email: `${merchant.merchantId.toLowerCase()}@sandbox.example.com`,
    phone: '9000090000',
    legal_business_name: 'Demo Bazaar (sandbox)',
    business_type: 'proprietorship',
    contact_name: 'Demo Bazaar (sandbox)',
    profile: { category: 'ecommerce', subcategory: 'ecommerce_marketplace' },
  });
  await saveLinkedAccount(sql, merchant.merchantId, AT, id);
  return id;
}

/** Opens a payment session; the one before has expired. @returns the QR code's id */
async function openSession(deps: DemoDeps, { row }: DemoOrder): Promise<string> {
  const { sql, clock, demoGateway } = deps;
  const { orderNumber, amountPaise } = row;
  const sessionId = `ps_${ulid(clock.nowMs())}`;
  const outcome = await reserveSession(sql, orderNumber, sessionId, SESSION_MS);
  if (outcome !== 'reserved') throw new Error(`A session of ${orderNumber} is ${outcome}`);
  const qrCode = createQrCode(demoGateway.gateway, {
    type: 'upi_qr',
    usage: 'single_use',
    fixed_amount: true,
    payment_amount: amountPaise,
    close_by: Math.floor((clock.nowMs() + SESSION_MS) / 1000),
    description: `Order ${orderNumber}`,
    notes: { order_number: orderNumber, session_id: sessionId },
  });
  await markSessionOpen(sql, sessionId, {
    gatewaySessionId: qrCode.id,
    upiIntent: qrCode.image_content,
    pageUrl: qrCode.image_url,
  });
  return qrCode.id;
}

/** The buyer's attempt to pay fails. */
export async function failToPay(deps: DemoDeps, order: DemoOrder) {
  const qrCodeId = await openSession(deps, order);
  const { entity } = payQrCode(deps.demoGateway.gateway, qrCodeId, { vpa: FAILURE_VPA });
  return { gatewayPaymentId: entity.id, reason: entity.error_description ?? '' };
}

/** The buyer pays. */
export async function pay(deps: DemoDeps, order: DemoOrder): Promise<PaymentRef> {
  const { sql, demoGateway } = deps;
  await accountOf(deps);
  const { entity } = payQrCode(demoGateway.gateway, await openSession(deps, order), {});
  const payment = presentPayment(entity);
  await writeCapture(sql, { at: AT, payment });
  return { gateway: AT.gateway, gatewayPaymentId: payment.gatewayPaymentId };
}

/** Holds the funds of an order that has just been paid. */
export async function hold(deps: DemoDeps, { row }: DemoOrder): Promise<void> {
  const { sql, demoGateway } = deps;
  const lease = await claimHold(sql, row.orderNumber);
  if (lease === null) throw new Error(`The funds of ${row.orderNumber} cannot be held`);
  const { gatewayPaymentId } = lease;
  const transfer = {
    account: await accountOf(deps),
    amount: row.amountPaise,
    currency: 'INR',
    notes: { idempotency_key: moneyKey(gatewayPaymentId, 'transfer') },
    on_hold: true,
  } as const;
  const [made] = createTransfers(demoGateway.gateway, gatewayPaymentId, [transfer]);
  if (!made) throw new Error('The gateway made no transfer');
  const held = { transferId: made.id, state: 'held', feePaise: made.fees } as const;
  await markHeld(sql, lease, held);
  await endMoneyLease(sql, lease);
}

const paymentIdOf = ({ payment }: DemoOrder) => payment?.gatewayPaymentId ?? '';

/** Lifts the hold. */
export function release({ demoGateway: { gateway } }: DemoDeps, order: DemoOrder): void {
  for (const { id } of transfersOf(gateway, paymentIdOf(order))) holdTransfer(gateway, id, false);
}

/** Refunds the payment, and takes back what was held. */
export async function refund(
  { sql, demoGateway: { gateway } }: DemoDeps,
  order: DemoOrder,
  reason: RefundReason,
): Promise<void> {
  const key = moneyKey(paymentIdOf(order), 'refund');
  const notes = { idempotency_key: key, reason };
  const input = { amount: order.row.amountPaise, notes, reverse_all: true };
  const { id } = refundPayment(gateway, paymentIdOf(order), input, key);
  const payment = { gateway: AT.gateway, gatewayPaymentId: paymentIdOf(order) };
  const { amountPaise } = order.row;
  await bookMovement(sql, payment, 'refund', { movementId: id, amountPaise });
}

/** The buyer's bank takes the payment back: a chargeback that the platform loses. */
export async function loseToBank(
  { sql, demoGateway: { gateway } }: DemoDeps,
  order: DemoOrder,
): Promise<void> {
  const { id } = openDispute(gateway, paymentIdOf(order));
  // The payment is with the merchant: the bank takes the platform's own money.
  addToBalance(gateway, order.row.amountPaise);
  const lost = presentChargeback(updateDisputeStatus(gateway, id, 'lost'));
  await writeReversal(sql, AT, lost, 'gateway');
}
