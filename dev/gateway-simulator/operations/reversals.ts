import { balanceChange, unreversedPaise } from './balance.ts';
import { type Transfer, badRequest } from '../state/entities.ts';
import { type SimulatedGateway, publish } from '../gateway.ts';
import { newId } from '../random.ts';
import { currentTransfer, rowsById } from './transfers.ts';

/** The transfer after a reversal of at most `wantedPaise`. */
export function reverseTransfer(transfer: Transfer, wantedPaise: number): Transfer {
  const takenPaise = Math.min(wantedPaise, unreversedPaise(transfer));
  const amount_reversed = transfer.amount_reversed + takenPaise;
  const status = amount_reversed === transfer.amount ? 'reversed' : 'partially_reversed';
  return takenPaise === 0 ? transfer : { ...transfer, amount_reversed, status };
}

/**
 * Takes a transfer or a part of it back from the linked account. Source:
 * api/payments/route/reverse-a-transfer.
 *
 * @throws RazorpayError 400 for more than is left of it
 */
export function takeBackTransfer(
  gateway: SimulatedGateway,
  id: string,
  amountPaise: number | undefined,
) {
  const transfer = currentTransfer(gateway, id);
  const leftPaise = unreversedPaise(transfer);
  const amount = amountPaise ?? leftPaise;
  if (amount === 0 || amount > leftPaise) {
    throw badRequest('The reversal amount is greater than the amount left of the transfer');
  }
  const changes = {
    transfers: rowsById([reverseTransfer(transfer, amount)]),
    ...balanceChange(gateway, amount),
  };
  publish(gateway, changes);
  return {
    id: newId('rvrsl_'),
    entity: 'reversal',
    transfer_id: id,
    amount,
    fee: 0,
    tax: 0,
    currency: 'INR',
    notes: [],
    created_at: gateway.now(),
  };
}
