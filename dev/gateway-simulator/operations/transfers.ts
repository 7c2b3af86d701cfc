import { z } from 'zod';
import { assertReceivesTransfers, assertTransfersAllowed } from './accounts.ts';
import { balanceChange, platformBalancePaise, unreversedPaise } from './balance.ts';
import type { NewEvent } from '../callbacks/callbacks.ts';
import { type Payment, type Transfer, badRequest, notes } from '../state/entities.ts';
import { NO_FEE, feeOf } from './fees.ts';
import { type SimulatedGateway, publish } from '../gateway.ts';
import { requireRow } from '../state/store.ts';
import { newId } from '../random.ts';
import { SETTLED_AFTER_SECONDS, shownTransfer } from '../api/shown.ts';
import { subjectsOfTransfer, switchOf } from '../switches.ts';
import { type FailureReason, NO_ERROR, errorOf } from './transfer-errors.ts';

/** A transfer in a request, amount in paise. */
export const newTransfer = z.strictObject({
  account: z.string(),
  amount: z.number().int().min(100),
  currency: z.literal('INR'),
  notes: notes.optional(),
  linked_account_notes: z.array(z.string()).optional(),
  on_hold: z.boolean().optional(),
  on_hold_until: z.number().int().optional(),
});
type NewTransfer = z.output<typeof newTransfer>;

function isDueForSettlement(gateway: SimulatedGateway, transfer: Transfer): boolean {
  const { settlement_status, status, created_at } = transfer;
  const hasMoney = status === 'processed' || status === 'partially_reversed';
  return (
    settlement_status === 'pending' &&
    hasMoney &&
    gateway.now() - created_at >= SETTLED_AFTER_SECONDS &&
    switchOf(gateway, 'settlements', subjectsOfTransfer(gateway, transfer)) === 't_plus_2'
  );
}

/** The current transfer: one that is due is settled when it is read. */
export function currentTransfer(gateway: SimulatedGateway, id: string): Transfer {
  const { entity } = requireRow(gateway, 'transfers', id);
  if (!isDueForSettlement(gateway, entity)) return entity;
  const settled: Transfer = {
    ...entity,
    settlement_status: 'settled',
    recipient_settlement_id: newId('setl_'),
  };
  publish(gateway, { transfers: { [id]: { entity: settled } } });
  return settled;
}

/** The transfers of a payment, oldest first. */
export function transfersOf(gateway: SimulatedGateway, paymentId: string): Transfer[] {
  const { transferIds } = requireRow(gateway, 'payments', paymentId);
  return transferIds.map((id) => currentTransfer(gateway, id));
}

function assertTransferable(
  gateway: SimulatedGateway,
  payment: Payment,
  input: readonly NewTransfer[],
): void {
  if (payment.status !== 'captured') throw badRequest('The payment status should be captured');
  if (payment.amount_refunded > 0) {
    throw badRequest('Transfer cannot be made on a payment for which a refund was initiated');
  }
  for (const { account } of input) {
    const subjects = subjectsOfTransfer(gateway, { source: payment.id, recipient: account });
    assertReceivesTransfers(gateway, account, subjects);
    assertTransfersAllowed(gateway, subjects);
  }
  const askedPaise = input.reduce((sum, { amount }) => sum + amount, 0);
  const made = transfersOf(gateway, payment.id);
  const madePaise = made.reduce((sum, transfer) => sum + unreversedPaise(transfer), 0);
  if (madePaise + askedPaise > payment.amount) {
    throw badRequest(
      'The sum of amount requested for transfer is greater than the captured amount',
    );
  }
  if (askedPaise > platformBalancePaise(gateway)) {
    throw badRequest('Transfer cannot be made due to insufficient balance');
  }
}

function pendingTransfer(gateway: SimulatedGateway, source: string, input: NewTransfer): Transfer {
  const onHold = input.on_hold ?? false;
  const now = gateway.now();
  const id = newId('trf_');
  const subjects = subjectsOfTransfer(gateway, { source, recipient: input.account });
  const fee = switchOf(gateway, 'fees', subjects) ? feeOf('transfer', input.amount) : NO_FEE;
  return {
    id,
    entity: 'transfer',
    status: 'pending',
    source,
    recipient: input.account,
    amount: input.amount,
    currency: 'INR',
    amount_reversed: 0,
    fees: fee.feePaise,
    tax: fee.taxPaise,
    notes: input.notes ?? {},
    linked_account_notes: input.linked_account_notes ?? [],
    on_hold: onHold,
    on_hold_until: input.on_hold_until ?? null,
    settlement_status: onHold ? 'on_hold' : 'pending',
    recipient_settlement_id: null,
    created_at: now,
    processed_at: null,
    error: { ...NO_ERROR, id },
  };
}

const asProcessed = (gateway: SimulatedGateway, transfer: Transfer): Transfer => ({
  ...transfer,
  status: 'processed',
  processed_at: gateway.now(),
});

const asFailed = (
  gateway: SimulatedGateway,
  transfer: Transfer,
  reason: FailureReason,
): Transfer => ({
  ...transfer,
  status: 'failed',
  settlement_status: null,
  processed_at: gateway.now(),
  error: errorOf(transfer.id, reason),
});

/** What becomes of a new transfer, when the platform's balance is `balancePaise`. */
function ended(gateway: SimulatedGateway, transfer: Transfer, balancePaise: number): Transfer {
  if (transfer.amount + transfer.fees > balancePaise) {
    return asFailed(gateway, transfer, 'transfer_amount_higher_than_balance');
  }
  const stays = switchOf(gateway, 'transfersStay', subjectsOfTransfer(gateway, transfer));
  if (stays === 'pending') return transfer;
  if (stays === 'failed') return asFailed(gateway, transfer, 'insufficient_balance');
  return asProcessed(gateway, transfer);
}

/** What a transfer costs the platform, with its fees; nothing if it failed. */
const costPaise = ({ status, amount, fees }: Transfer) => (status === 'failed' ? 0 : amount + fees);

/** The events of transfers that have just ended: webhooks/route. */
function transferEvents(gateway: SimulatedGateway, transfers: readonly Transfer[]): NewEvent[] {
  return transfers
    .filter(({ status }) => status !== 'pending')
    .map((transfer) => ({
      name: `transfer.${transfer.status}`,
      entities: { transfer: shownTransfer(gateway, transfer) },
    }));
}

/** Entities as the rows that a change stores. */
export const rowsById = <Entity extends { id: string }>(entities: readonly Entity[]) =>
  Object.fromEntries(entities.map((entity) => [entity.id, { entity }]));

/**
 * Moves parts of a captured payment to linked accounts.
 *
 * @returns the transfers as in the response: pending, whatever has become of them
 * @throws RazorpayError 400
 */
export function createTransfers(
  gateway: SimulatedGateway,
  paymentId: string,
  input: readonly NewTransfer[],
): Transfer[] {
  const row = requireRow(gateway, 'payments', paymentId);
  assertTransferable(gateway, row.entity, input);
  const pending = input.map((one) => pendingTransfer(gateway, paymentId, one));
  const beforePaise = platformBalancePaise(gateway);
  let balancePaise = beforePaise;
  const transfers = pending.map((transfer) => {
    const made = ended(gateway, transfer, balancePaise);
    balancePaise -= costPaise(made);
    return made;
  });
  const transferIds = [...row.transferIds, ...transfers.map(({ id }) => id)];
  const changes = {
    transfers: rowsById(transfers),
    payments: { [paymentId]: { ...row, transferIds } },
    ...balanceChange(gateway, balancePaise - beforePaise),
  };
  publish(gateway, changes, transferEvents(gateway, transfers));
  return pending;
}

/** Ends a pending transfer, or has a processed one fail later. Its amount and fees then return. */
export function endTransfer(
  gateway: SimulatedGateway,
  id: string,
  status: 'processed' | 'failed',
  reason: FailureReason,
): Transfer {
  const entity = currentTransfer(gateway, id);
  const canEnd = entity.status === 'pending' || entity.status === 'processed';
  if (!canEnd || entity.status === status) {
    throw badRequest(`The transfer is ${entity.status} already`);
  }
  const transfer =
    status === 'processed' ? asProcessed(gateway, entity) : asFailed(gateway, entity, reason);
  const changes = {
    transfers: rowsById([transfer]),
    ...balanceChange(gateway, costPaise(entity) - costPaise(transfer)),
  };
  publish(gateway, changes, transferEvents(gateway, [transfer]));
  return transfer;
}

/** Puts the settlement of a transfer on hold, or lifts the hold. */
export function holdTransfer(gateway: SimulatedGateway, id: string, onHold: boolean): Transfer {
  const transfer = currentTransfer(gateway, id);
  assertTransfersAllowed(gateway, subjectsOfTransfer(gateway, transfer));
  const isOver = transfer.status === 'failed' || transfer.settlement_status === 'settled';
  if (isOver) throw badRequest('The settlement of the transfer cannot be changed');
  const entity: Transfer = {
    ...transfer,
    on_hold: onHold,
    settlement_status: onHold ? 'on_hold' : 'pending',
  };
  publish(gateway, { transfers: { [id]: { entity } } });
  return entity;
}
