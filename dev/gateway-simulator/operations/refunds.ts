import { createHash } from 'node:crypto';
import { z } from 'zod';
import { balanceChange, platformBalancePaise, unreversedPaise } from './balance.ts';
import type { NewEvent } from '../callbacks/callbacks.ts';
import type { Payment, Refund, Transfer } from '../state/entities.ts';
import { RazorpayError, badRequest, notes } from '../state/entities.ts';
import { type SimulatedGateway, publish } from '../gateway.ts';
import { newId } from '../random.ts';
import { shownPayment } from '../api/shown.ts';
import { type Changes, type Row, requireRow } from '../state/store.ts';
import { subjectsOfPayment, switchOf } from '../switches.ts';
import { reverseTransfer } from './reversals.ts';
import { rowsById, transfersOf } from './transfers.ts';

/** The body of a refund request, amount in paise; without it, the rest of the payment. */
export const newRefund = z.strictObject({
  amount: z.number().int().min(1).optional(),
  speed: z.literal('normal').optional(),
  notes: notes.optional(),
  receipt: z.string().optional(),
  reverse_all: z.boolean().optional(),
});
type NewRefund = Omit<z.output<typeof newRefund>, 'speed'>;

/** payments/refunds/errors: banks do not refund a payment that is more than 6 months old. */
const REFUND_WINDOW_SECONDS = 180 * 24 * 3600;
const SMALLEST_REFUND_PAISE = 100;

function assertRefundable(
  gateway: SimulatedGateway,
  row: Row<'payments'>,
  amountPaise: number,
): void {
  const { entity: payment } = row;
  if (!payment.captured) throw badRequest('The payment status should be captured');
  if (payment.amount_refunded === payment.amount) {
    throw badRequest('The payment has been fully refunded already.');
  }
  if (amountPaise < SMALLEST_REFUND_PAISE) throw badRequest('The amount must be at least INR 1.00');
  if (amountPaise > payment.amount - payment.amount_refunded) {
    throw badRequest('The refund amount provided is greater than amount captured.');
  }
  const isTooOld = gateway.now() - payment.created_at > REFUND_WINDOW_SECONDS;
  if (isTooOld || switchOf(gateway, 'refundsRefused', subjectsOfPayment(gateway, row))) {
    throw badRequest(
      'Refund is not supported by the bank because the payment is more than 6 months old',
    );
  }
}

/** The payment with its refunded amount changed. */
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

function madeRefund(
  gateway: SimulatedGateway,
  row: Row<'payments'>,
  amountPaise: number,
  input: NewRefund,
): Refund {
  const isPending = switchOf(gateway, 'refundsStartPending', subjectsOfPayment(gateway, row));
  return {
    id: newId('rfnd_'),
    entity: 'refund',
    amount: amountPaise,
    currency: 'INR',
    payment_id: row.entity.id,
    notes: input.notes ?? {},
    receipt: input.receipt ?? null,
    acquirer_data: { arn: null },
    created_at: gateway.now(),
    batch_id: null,
    status: isPending ? 'pending' : 'processed',
    speed_processed: 'normal',
    speed_requested: 'normal',
  };
}

/** The transfers that `reverse_all` reverses, in their new state. */
function reversals(gateway: SimulatedGateway, paymentId: string, amountPaise: number): Transfer[] {
  const live = transfersOf(gateway, paymentId).filter((transfer) => unreversedPaise(transfer) > 0);
  const isWhole = live.every((transfer) => unreversedPaise(transfer) <= amountPaise);
  if (live.length > 1 && !isWhole) {
    throw badRequest('reverse_all is not allowed for a partial refund of several transfers');
  }
  return live.map((transfer) => reverseTransfer(transfer, amountPaise));
}

const totalReversedPaise = (transfers: readonly Transfer[]) =>
  transfers.reduce((sum, { amount_reversed }) => sum + amount_reversed, 0);

function reversedPaise(gateway: SimulatedGateway, transfers: readonly Transfer[]): number {
  const before = transfers.map(({ id }) => requireRow(gateway, 'transfers', id).entity);
  return totalReversedPaise(transfers) - totalReversedPaise(before);
}

function refundEvent(
  gateway: SimulatedGateway,
  name: 'created' | 'processed' | 'failed',
  refund: Refund,
  row: Row<'payments'>,
): NewEvent {
  return { name: `refund.${name}`, entities: { refund, payment: shownPayment(gateway, row) } };
}

function createRefund(
  gateway: SimulatedGateway,
  row: Row<'payments'>,
  input: NewRefund,
  idempotencyChanges: (refund: Refund) => Changes,
): Refund {
  const payment = row.entity;
  const amountPaise = input.amount ?? payment.amount - payment.amount_refunded;
  assertRefundable(gateway, row, amountPaise);
  const taken = input.reverse_all === true ? reversals(gateway, payment.id, amountPaise) : [];
  const balanceDeltaPaise = reversedPaise(gateway, taken) - amountPaise;
  if (platformBalancePaise(gateway) + balanceDeltaPaise < 0) {
    throw badRequest(
      'Your account does not have enough balance to carry out the refund operation.',
    );
  }
  const refund = madeRefund(gateway, row, amountPaise, input);
  const refunded = {
    ...row,
    entity: withRefunded(payment, amountPaise),
    refundIds: [...row.refundIds, refund.id],
  };
  const changes: Changes = {
    refunds: rowsById([refund]),
    payments: { [payment.id]: refunded },
    transfers: rowsById(taken),
    ...balanceChange(gateway, balanceDeltaPaise),
    ...idempotencyChanges(refund),
  };
  // A refund that is processed at once has both events, as in the samples of webhooks/refunds.
  const names =
    refund.status === 'pending' ? (['created'] as const) : (['created', 'processed'] as const);
  publish(
    gateway,
    changes,
    names.map((name) => refundEvent(gateway, name, refund, refunded)),
  );
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

/** @throws RazorpayError 409 as often as the switch says, for a key that has made no refund yet */
function assertNotInProgress(gateway: SimulatedGateway, key: string, subjects: string[]): void {
  const count = gateway.store.get('requestsInProgress', key)?.count ?? 0;
  if (count >= switchOf(gateway, 'refundsInProgress', subjects)) return;
  publish(gateway, { requestsInProgress: { [key]: { count: count + 1 } } });
  const description = 'Another request with the same idempotency key is still in progress.';
  throw new RazorpayError(409, description);
}

/**
 * Refunds a payment, or returns the refund that was created with the same idempotency key.
 *
 * @throws RazorpayError 400 when the refund is not allowed, 409 for the same key with another body
 *   or with a request in progress
 */
export function refundPayment(
  gateway: SimulatedGateway,
  paymentId: string,
  input: NewRefund,
  idempotencyKey: string | undefined,
): Refund {
  const row = requireRow(gateway, 'payments', paymentId);
  const subjects = subjectsOfPayment(gateway, row);
  const isHonoured = switchOf(gateway, 'honourIdempotencyKeys', subjects);
  if (idempotencyKey === undefined || !isHonoured)
    return createRefund(gateway, row, input, () => ({}));
  assertKeyForm(idempotencyKey);
  const text = JSON.stringify([paymentId, input]);
  const bodyHash = createHash('sha256').update(text).digest('hex');
  const earlier = gateway.store.get('idempotencyKeys', idempotencyKey);
  if (earlier === undefined) {
    assertNotInProgress(gateway, idempotencyKey, subjects);
    const storeKey = ({ id }: Refund): Changes => ({
      idempotencyKeys: { [idempotencyKey]: { bodyHash, refundId: id } },
    });
    return createRefund(gateway, row, input, storeKey);
  }
  if (earlier.bodyHash === bodyHash) return requireRow(gateway, 'refunds', earlier.refundId).entity;
  const description = 'Different request with the same idempotency key has already been processed.';
  throw new RazorpayError(409, description);
}

/**
 * Ends a pending refund, or has a processed one fail later. The amount of a failed one returns to the
 * platform's balance.
 */
export function endRefund(
  gateway: SimulatedGateway,
  id: string,
  status: 'processed' | 'failed',
): Refund {
  const { entity } = requireRow(gateway, 'refunds', id);
  if (entity.status === 'failed' || entity.status === status) {
    throw badRequest(`The refund is ${entity.status} already`);
  }
  const refund: Refund = { ...entity, status };
  const row = requireRow(gateway, 'payments', entity.payment_id);
  const backPaise = status === 'failed' ? entity.amount : 0;
  const payment = { ...row, entity: withRefunded(row.entity, -backPaise) };
  const changes = {
    refunds: { [id]: { entity: refund } },
    payments: { [entity.payment_id]: payment },
    ...balanceChange(gateway, backPaise),
  };
  publish(gateway, changes, [refundEvent(gateway, status, refund, payment)]);
  return refund;
}

/** The refunds of a payment, oldest first. */
export function refundsOf(gateway: SimulatedGateway, paymentId: string): Row<'refunds'>[] {
  const { refundIds } = requireRow(gateway, 'payments', paymentId);
  return refundIds.map((id) => requireRow(gateway, 'refunds', id));
}
