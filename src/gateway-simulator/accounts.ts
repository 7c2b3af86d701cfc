import type { LinkedAccount } from './entities.ts';
import { newId } from './random.ts';
import { badRequest } from './razorpay-error.ts';
import { publish } from './world.ts';
import type { World } from './world.ts';

export type NewAccount = Pick<
  LinkedAccount,
  'email' | 'phone' | 'contact_name' | 'business_type' | 'legal_business_name' | 'profile'
>;

/** Opens a linked account. @throws RazorpayError 400 that names the account with this email */
export function createAccount(world: World, asked: NewAccount): LinkedAccount {
  const taken = world.book.all('accounts').find(({ entity }) => entity.email === asked.email);
  if (taken !== undefined) {
    const bareId = taken.entity.id.slice('acc_'.length);
    throw badRequest(`Merchant email already exists for account - ${bareId}.`);
  }
  const entity: LinkedAccount = {
    id: newId('acc_'),
    type: 'route',
    status: 'created',
    ...asked,
    notes: {},
    created_at: world.now(),
  };
  publish(world, { accounts: { [entity.id]: { entity } } });
  return entity;
}
