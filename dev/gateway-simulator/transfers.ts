import type { LinkedAccount, Notes, Payment, Transfer } from './entities.ts';
import { badRequest } from './entities.ts';
import { assertNotRefused } from './faults.ts';
import type { SimulatedGateway } from './gateway.ts';
import { balanceChange, requireRow, platformBalancePaise, publish } from './gateway.ts';
import { newId } from './random.ts';
import type { Row } from './store.ts';

/** The body of a request for a linked account. */
export type NewAccount = Pick<
  LinkedAccount,
  'email' | 'phone' | 'contact_name' | 'business_type' | 'legal_business_name' | 'profile'
>;

/** Opens a linked account. @throws RazorpayError 400 that names the account with this email */
export function createAccount(gateway: SimulatedGateway, input: NewAccount): LinkedAccount {
  const taken = gateway.store.all('accounts').find(({ entity }) => entity.email === input.email);
  if (taken !== undefined) {
    const bareId = taken.entity.id.slice('acc_'.length);
    throw badRequest(`Merchant email already exists for account - ${bareId}.`);
  }
  const entity: LinkedAccount = {
    id: newId('acc_'),
    type: 'route',
    status: 'created',
    ...input,
    notes: {},
    created_at: gateway.now(),
  };
  publish(gateway, { accounts: { [entity.id]: { entity } } });
  return entity;
}

/** A transfer in a request, amount in paise. */
export interface NewTransfer {
  account: string;
  amount: number;
  notes?: Notes | undefined;
  linked_account_notes?: string[] | undefined;
  on_hold?: boolean | undefined;
  on_hold_until?: number | undefined;
}

/** The part of a transfer that is not reversed, in paise. */
export function unreversedPaise({ amount, amount_reversed }: Transfer): number {
  return amount - amount_reversed;
}

/** The transfers of a payment, oldest first. */
export function transfersOf(gateway: SimulatedGateway, paymentId: string): Transfer[] {
  const { transferIds } = requireRow(gateway, 'payments', paymentId);
  return transferIds.map((id) => requireRow(gateway, 'transfers', id).entity);
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
    requireRow(gateway, 'accounts', account);
    assertNotRefused(gateway, 'transfer', [account, payment.id]);
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

function newTransfer(gateway: SimulatedGateway, paymentId: string, input: NewTransfer): Transfer {
  const onHold = input.on_hold ?? false;
  const now = gateway.now();
  return {
    id: newId('trf_'),
    entity: 'transfer',
    status: 'processed',
    source: paymentId,
    recipient: input.account,
    amount: input.amount,
    currency: 'INR',
    amount_reversed: 0,
    notes: input.notes ?? {},
    linked_account_notes: input.linked_account_notes ?? [],
    on_hold: onHold,
    on_hold_until: input.on_hold_until ?? null,
    settlement_status: onHold ? 'on_hold' : 'pending',
    recipient_settlement_id: null,
    created_at: now,
    processed_at: now,
  };
}

const rowsById = <Entity extends { id: string }>(entities: readonly Entity[]) =>
  Object.fromEntries(entities.map((entity) => [entity.id, { entity }]));

/** Moves parts of a captured payment to linked accounts. @throws RazorpayError 400 */
export function createTransfers(
  gateway: SimulatedGateway,
  paymentId: string,
  input: readonly NewTransfer[],
): Transfer[] {
  const row = requireRow(gateway, 'payments', paymentId);
  assertTransferable(gateway, row.entity, input);
  const transfers = input.map((one) => newTransfer(gateway, paymentId, one));
  const movedPaise = input.reduce((sum, { amount }) => sum + amount, 0);
  const transferIds = [...row.transferIds, ...transfers.map(({ id }) => id)];
  publish(gateway, {
    transfers: rowsById(transfers),
    payments: { [paymentId]: { ...row, transferIds } },
    ...balanceChange(gateway, -movedPaise),
  });
  // As in the documentation's sample: pending in the response, processed when it is fetched.
  return transfers.map((entity) => ({ ...entity, status: 'pending', processed_at: null }));
}

/** Puts the settlement of a transfer on hold, or lifts the hold. */
export function holdTransfer(gateway: SimulatedGateway, id: string, onHold: boolean): Transfer {
  const row: Row<'transfers'> = requireRow(gateway, 'transfers', id);
  assertNotRefused(gateway, 'transfer', [row.entity.recipient, row.entity.source]);
  const entity: Transfer = {
    ...row.entity,
    on_hold: onHold,
    settlement_status: onHold ? 'on_hold' : 'pending',
  };
  publish(gateway, { transfers: { [id]: { entity } } });
  return entity;
}

/** The transfer after a reversal of at most `wantedPaise`. */
export function reverseTransfer(transfer: Transfer, wantedPaise: number): Transfer {
  const takenPaise = Math.min(wantedPaise, unreversedPaise(transfer));
  const amount_reversed = transfer.amount_reversed + takenPaise;
  const status = amount_reversed === transfer.amount ? 'reversed' : 'partially_reversed';
  return takenPaise === 0 ? transfer : { ...transfer, amount_reversed, status };
}
