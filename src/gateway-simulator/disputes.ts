import type { Dispute } from './entities.ts';
import { newId } from './random.ts';
import { badRequest } from './razorpay-error.ts';
import { balanceChange, existing, publish } from './world.ts';
import type { World } from './world.ts';

/** How long the platform has to answer the buyer's bank. */
const RESPOND_WITHIN_SECONDS = 7 * 24 * 3600;

function write(world: World, name: string, dispute: Dispute, takenPaise: number): Dispute {
  const payment = existing(world, 'payments', dispute.payment_id).entity;
  const changes = {
    disputes: { [dispute.id]: { entity: dispute } },
    ...balanceChange(world, -takenPaise),
  };
  publish(world, changes, [{ name: `payment.dispute.${name}`, entities: { payment, dispute } }]);
  return dispute;
}

/** The buyer's bank asks for a payment's money back, or for some of it. */
export function openDispute(world: World, paymentId: string, amountPaise?: number): Dispute {
  const { entity: payment } = existing(world, 'payments', paymentId);
  if (!payment.captured) throw badRequest('The payment status should be captured');
  const amount = amountPaise ?? payment.amount;
  if (amount > payment.amount) throw badRequest('The amount is greater than the amount captured');
  const dispute: Dispute = {
    id: newId('disp_'),
    entity: 'dispute',
    payment_id: paymentId,
    amount,
    currency: 'INR',
    amount_deducted: 0,
    reason_code: 'goods_or_services_not_received_or_partially_received',
    respond_by: world.now() + RESPOND_WITHIN_SECONDS,
    status: 'open',
    phase: 'chargeback',
    created_at: world.now(),
  };
  return write(world, 'created', dispute, 0);
}

/** What becomes of it. Of a lost one the amount is taken from the platform's own balance. */
export function moveDispute(
  world: World,
  id: string,
  status: Exclude<Dispute['status'], 'open'>,
): Dispute {
  const { entity } = existing(world, 'disputes', id);
  if (entity.status !== 'open' && entity.status !== 'under_review') {
    throw badRequest('The dispute has ended');
  }
  const takenPaise = status === 'lost' ? entity.amount : 0;
  return write(world, status, { ...entity, status, amount_deducted: takenPaise }, takenPaise);
}
