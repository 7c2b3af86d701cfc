import { createHash } from 'node:crypto';
import type { Announcement } from './callbacks.ts';
import {
  type Notes,
  type Payment,
  RazorpayError,
  type Refund,
  type Transfer,
  badRequest,
} from './entities.ts';
import { assertNotRefused } from './faults.ts';
import {
  type SimulatedGateway,
  balanceChange,
  existing,
  platformBalancePaise,
  publish,
} from './gateway.ts';
import { newId } from './random.ts';
import type { Changes, Row } from './store.ts';
import { reversed, transfersOf, unreversedPaise } from './transfers.ts';

export interface NewRefund {
  amount?: number | undefined;
  notes?: Notes | undefined;
  receipt?: string | undefined;
  reverse_all?: boolean | undefined;
}

/** payments/refunds/errors: banks take no refund of a payment more than 6 months old. */
const REFUND_WINDOW_SECONDS = 180 * 24 * 3600;
const SMALLEST_REFUND_PAISE = 100;

function assertRefundable(gateway: SimulatedGateway, payment: Payment, amountPaise: number): void {
  if (!payment.captured) throw badRequest('The payment status should be captured');
  if (payment.amount_refunded === payment.amount) {
    throw badRequest('The payment has been fully refunded already.');
  }
  if (amountPaise < SMALLEST_REFUND_PAISE) throw badRequest('The amount must be at least INR 1.00');
  if (amountPaise > payment.amount - payment.amount_refunded) {
    throw badRequest('The refund amount provided is greater than amount captured.');
  }
  if (gateway.now() - payment.created_at > REFUND_WINDOW_SECONDS) {
    throw badRequest(
      'Refund is not supported by the bank because the payment is more than 6 months old',
    );
  }
  assertNotRefused(gateway, 'refund', [payment.id]);
}

/** The payment with this much more, or less, given back. */
function withRefunded(payment: Payment, deltaPaise: number): Payment {
  const amount_refunded = payment.amount_refunded + deltaPaise;
  const isFull = amount_refunded === payment.amount;
  const partialStatus = amount_refunded > 0 ? 'partial' : null;
  return {
    ...payment,
    amount_refunded,
    status: isFull ? 'refunded' : 'captured',
    refund_status: isFull ? 'full' : partialStatus,
  };
}

function newRefund(
  gateway: SimulatedGateway,
  paymentId: string,
  amountPaise: number,
  asked: NewRefund,
): Refund {
  return {
    id: newId('rfnd_'),
    entity: 'refund',
    amount: amountPaise,
    currency: 'INR',
    payment_id: paymentId,
    notes: asked.notes ?? {},
    receipt: asked.receipt ?? null,
    acquirer_data: { arn: null },
    created_at: gateway.now(),
    batch_id: null,
    status: gateway.behaviour.refundsStartPending ? 'pending' : 'processed',
    speed_processed: 'normal',
    speed_requested: 'normal',
  };
}

/** The transfers from which `reverse_all` takes the refund back, as they are afterwards. */
function reversals(gateway: SimulatedGateway, paymentId: string, amountPaise: number): Transfer[] {
  const live = transfersOf(gateway, paymentId).filter((transfer) => unreversedPaise(transfer) > 0);
  const isWhole = live.every((transfer) => unreversedPaise(transfer) <= amountPaise);
  if (live.length > 1 && !isWhole) {
    throw badRequest('reverse_all is not allowed for a partial refund of several transfers');
  }
  return live.map((transfer) => reversed(transfer, amountPaise));
}

const totalReversedPaise = (transfers: readonly Transfer[]) =>
  transfers.reduce((sum, { amount_reversed }) => sum + amount_reversed, 0);

function reversedPaise(gateway: SimulatedGateway, transfers: readonly Transfer[]): number {
  const before = transfers.map(({ id }) => existing(gateway, 'transfers', id).entity);
  return totalReversedPaise(transfers) - totalReversedPaise(before);
}

function announce(refund: Refund, payment: Payment): Announcement[] {
  if (refund.status === 'pending') return [];
  return [{ name: `refund.${refund.status}`, entities: { refund, payment } }];
}

function makeRefund(
  gateway: SimulatedGateway,
  row: Row<'payments'>,
  asked: NewRefund,
  remember: (refund: Refund) => Changes,
): Refund {
  const payment = row.entity;
  const amountPaise = asked.amount ?? payment.amount - payment.amount_refunded;
  assertRefundable(gateway, payment, amountPaise);
  const taken = asked.reverse_all === true ? reversals(gateway, payment.id, amountPaise) : [];
  const balanceDeltaPaise = reversedPaise(gateway, taken) - amountPaise;
  if (platformBalancePaise(gateway) + balanceDeltaPaise < 0) {
    throw badRequest(
      'Your account does not have enough balance to carry out the refund operation.',
    );
  }
  const refund = newRefund(gateway, payment.id, amountPaise, asked);
  const entity = withRefunded(payment, amountPaise);
  const changes: Changes = {
    refunds: { [refund.id]: { entity: refund } },
    payments: { [payment.id]: { ...row, entity, refundIds: [...row.refundIds, refund.id] } },
    transfers: Object.fromEntries(taken.map((transfer) => [transfer.id, { entity: transfer }])),
    ...balanceChange(gateway, balanceDeltaPaise),
    ...remember(refund),
  };
  publish(gateway, changes, announce(refund, entity));
  return refund;
}

function assertKeyForm(key: string): void {
  if (key.length < 10) {
    throw badRequest('The idempotency key must be at least 10 characters long.');
  }
  if (!/^[A-Za-z0-9_-]+$/.test(key)) {
    throw badRequest(
      'The idempotency key must only contain alphanumeric characters, underscores, and hyphens',
    );
  }
}

/** Refunds a payment, or answers what was answered under the same key before. */
export function refundPayment(
  gateway: SimulatedGateway,
  paymentId: string,
  asked: NewRefund,
  idempotencyKey: string | undefined,
): Refund {
  const row = existing(gateway, 'payments', paymentId);
  const remembering = idempotencyKey !== undefined && gateway.behaviour.honourIdempotencyKeys;
  if (!remembering) return makeRefund(gateway, row, asked, () => ({}));
  assertKeyForm(idempotencyKey);
  const text = JSON.stringify([paymentId, asked]);
  const bodyHash = createHash('sha256').update(text).digest('hex');
  const earlier = gateway.store.get('idempotencyKeys', idempotencyKey);
  if (earlier === undefined) {
    const remember = ({ id }: Refund): Changes => ({
      idempotencyKeys: { [idempotencyKey]: { bodyHash, refundId: id } },
    });
    return makeRefund(gateway, row, asked, remember);
  }
  if (earlier.bodyHash === bodyHash) return existing(gateway, 'refunds', earlier.refundId).entity;
  const description = 'Different request with the same idempotency key has already been processed.';
  throw new RazorpayError(409, description);
}

/** A pending refund comes to its end at the bank; a failed one gives the money back to us. */
export function settleRefund(
  gateway: SimulatedGateway,
  id: string,
  status: 'processed' | 'failed',
): Refund {
  const { entity } = existing(gateway, 'refunds', id);
  if (entity.status !== 'pending') throw badRequest('The refund is not pending');
  const refund: Refund = { ...entity, status };
  const row = existing(gateway, 'payments', entity.payment_id);
  const backPaise = status === 'failed' ? entity.amount : 0;
  const payment = withRefunded(row.entity, -backPaise);
  const changes = {
    refunds: { [id]: { entity: refund } },
    payments: { [payment.id]: { ...row, entity: payment } },
    ...balanceChange(gateway, backPaise),
  };
  publish(gateway, changes, announce(refund, payment));
  return refund;
}

/** The refunds of a payment, the oldest first. */
export function refundsOf(gateway: SimulatedGateway, paymentId: string): Refund[] {
  const { refundIds } = existing(gateway, 'payments', paymentId);
  return refundIds.map((id) => existing(gateway, 'refunds', id).entity);
}
