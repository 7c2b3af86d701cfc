import { z } from 'zod';
import {
  ACCOUNT_STATUSES,
  ACTIVATIONS,
  type LinkedAccount,
  badRequest,
} from '../state/entities.ts';
import { type SimulatedGateway, publish } from '../gateway.ts';
import { requireRow } from '../state/store.ts';
import { newId } from '../random.ts';
import { switchOf } from '../switches.ts';

/** The body of a request for a linked account. */
export const newAccount = z.strictObject({
  type: z.literal('route'),
  email: z.email(),
  phone: z.string().min(8).max(15),
  legal_business_name: z.string().min(4).max(200),
  business_type: z.string().min(1),
  contact_name: z.string().min(4).max(255),
  profile: z.looseObject({ category: z.string(), subcategory: z.string() }),
});
type NewAccount = z.output<typeof newAccount>;

/** Opens a linked account. @throws RazorpayError 400 that names the account with this email */
export function createAccount(gateway: SimulatedGateway, input: NewAccount): LinkedAccount {
  const taken = gateway.store.all('accounts').find(({ entity }) => entity.email === input.email);
  if (taken !== undefined) {
    const bareId = taken.entity.id.slice('acc_'.length);
    throw badRequest(`Merchant email already exists for account - ${bareId}.`);
  }
  const entity: LinkedAccount = {
    id: newId('acc_'),
    status: 'created',
    ...input,
    notes: {},
    created_at: gateway.now(),
  };
  publish(gateway, { accounts: { [entity.id]: { entity } } });
  return entity;
}

/** What the gateway changes of a linked account. */
export const accountChange = z.strictObject({
  status: z.enum(ACCOUNT_STATUSES).optional(),
  activation: z.enum(ACTIVATIONS).optional(),
  /** How long ago it was created, from now on. */
  ageSeconds: z.number().int().min(0).optional(),
});

/** Changes what the API reports of a linked account, and its age. */
export function changeAccount(
  gateway: SimulatedGateway,
  id: string,
  { status, activation, ageSeconds }: z.output<typeof accountChange>,
): LinkedAccount {
  const row = requireRow(gateway, 'accounts', id);
  const { entity } = row;
  const created_at = ageSeconds === undefined ? entity.created_at : gateway.now() - ageSeconds;
  const changed = { ...entity, status: status ?? entity.status, created_at };
  const known = activation ?? row.activation;
  publish(gateway, {
    accounts: { [id]: { entity: changed, ...(known && { activation: known }) } },
  });
  return changed;
}

/** An account as the beta API shows it, as far as it is simulated. */
export function betaAccount(gateway: SimulatedGateway, id: string) {
  const { entity, activation = 'activated' } = requireRow(gateway, 'accounts', id);
  const { legal_business_name: name, email } = entity;
  return { id, entity: 'account', name, email, activation_details: { status: activation } };
}

/** @throws RazorpayError 400 while transfers of one of the subjects are refused */
export function assertTransfersAllowed(gateway: SimulatedGateway, subjects: readonly string[]) {
  if (switchOf(gateway, 'transfersRefused', subjects)) {
    throw badRequest('The linked account is closed');
  }
}

/** payments/route/transfer-funds-to-linked-accounts: "a cooling period of 24 hours". */
const COOLING_PERIOD_SECONDS = 24 * 3600;

/**
 * The documents say which accounts receive no transfers (payments/route/faqs, "activation statuses"), but
 * not with which description transfers to them are refused.
 *
 * @throws RazorpayError 400
 */
export function assertReceivesTransfers(
  gateway: SimulatedGateway,
  accountId: string,
  subjects: readonly string[],
): void {
  const { entity, activation = 'activated' } = requireRow(gateway, 'accounts', accountId);
  if (!switchOf(gateway, 'newAccountsWait', subjects)) return;
  const status = entity.status === 'suspended' ? entity.status : activation;
  if (status !== 'activated') {
    throw badRequest(`Transfers cannot be made to a linked account whose status is ${status}`);
  }
  if (gateway.now() - entity.created_at < COOLING_PERIOD_SECONDS) {
    throw badRequest('The linked account is in its cooling period of 24 hours');
  }
}
