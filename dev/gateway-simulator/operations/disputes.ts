import { balanceChange } from './balance.ts';
import { type Dispute, badRequest } from '../state/entities.ts';
import { type SimulatedGateway, publish } from '../gateway.ts';
import { requireRow } from '../state/store.ts';
import { newId } from '../random.ts';
import { shownPayment } from '../api/shown.ts';

/** How long the platform may respond to the buyer's bank. */
const RESPOND_WITHIN_SECONDS = 7 * 24 * 3600;

function storeDispute(
  gateway: SimulatedGateway,
  name: string,
  dispute: Dispute,
  takenPaise: number,
): Dispute {
  const payment = shownPayment(gateway, requireRow(gateway, 'payments', dispute.payment_id));
  const changes = {
    disputes: { [dispute.id]: { entity: dispute } },
    ...balanceChange(gateway, -takenPaise),
  };
  publish(gateway, changes, [{ name: `payment.dispute.${name}`, entities: { payment, dispute } }]);
  return dispute;
}

/** The buyer's bank opens a chargeback of a payment or of a part of it. */
export function openDispute(
  gateway: SimulatedGateway,
  paymentId: string,
  amountPaise?: number,
): Dispute {
  const { entity: payment } = requireRow(gateway, 'payments', paymentId);
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
    respond_by: gateway.now() + RESPOND_WITHIN_SECONDS,
    status: 'open',
    phase: 'chargeback',
    created_at: gateway.now(),
  };
  return storeDispute(gateway, 'created', dispute, 0);
}

/**
 * Changes the status of a chargeback. A lost one is debited from the platform's balance; one that was won can
 * open again.
 */
export function updateDisputeStatus(
  gateway: SimulatedGateway,
  id: string,
  status: Exclude<Dispute['status'], 'open'>,
): Dispute {
  const { entity } = requireRow(gateway, 'disputes', id);
  const isOpen = entity.status === 'open' || entity.status === 'under_review';
  if (!isOpen && !(entity.status === 'won' && status === 'under_review')) {
    throw badRequest('The dispute has ended');
  }
  const takenPaise = status === 'lost' ? entity.amount : 0;
  return storeDispute(
    gateway,
    status,
    { ...entity, status, amount_deducted: takenPaise },
    takenPaise,
  );
}
