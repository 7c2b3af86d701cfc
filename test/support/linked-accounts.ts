import { randomUUID } from 'node:crypto';
import { setLinkedAccount } from '../../src/merchants/commands.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from './actor.ts';
import { simulator } from './gateway.ts';
import { usableAccount } from './merchant.ts';
import { SECRET_KEYS } from './secret-keys.ts';
import type { TestService } from './service.ts';

/** The id of an account that no merchant has: in production an account belongs to one merchant. */
export const anAccountId = (): string => `acc_${randomUUID().replaceAll('-', '').slice(0, 14)}`;

/** What the simulator reports of a linked account; see its route `PATCH /simulator/accounts/:id`. */
interface AccountChange {
  status?: 'created' | 'activated' | 'needs_clarification' | 'under_review' | 'suspended';
  activation?: 'activated' | 'verification_pending' | 'verification_failed' | 'not_activated';
  ageSeconds?: number;
}

/** Changes an account at production's gateway simulator. */
export const changeAccount = (
  { config }: TestService,
  linkedAccountId: string,
  change: AccountChange,
) =>
  simulator({ config, environment: 'production' }, 'PATCH', `/accounts/${linkedAccountId}`, change);

/** An account at production's gateway, a day old unless `change` says otherwise. */
export async function newAccount(
  service: TestService,
  change: AccountChange = {},
): Promise<string> {
  const at = { gateway: 'razorpay', environment: 'production' } as const;
  const { linkedAccountId } = await service.deps.gateways
    .forOrder(at)
    .createLinkedAccount({ email: `${randomUUID()}@example.com`, name: 'Lamp Shop' });
  await changeAccount(service, linkedAccountId, { ageSeconds: 86_400, ...change });
  return linkedAccountId;
}

/** Damages the database: the merchant has no account any more. */
export const loseAccounts = async (
  { sql }: TestService,
  { merchantId }: { merchantId: string },
): Promise<void> => {
  await sql`DELETE FROM linked_account_changes WHERE merchant_id = ${merchantId}`;
  await sql`DELETE FROM linked_accounts WHERE merchant_id = ${merchantId}`;
};

/** What `setLinkedAccount` needs, as an operator has it. */
export const accountDeps = ({ sql, config }: TestService) => ({
  sql,
  actor: TEST_ACTOR,
  linkedAccountChangeMs: config.durations.linkedAccountChangeMs,
  publicBaseUrl: config.publicBaseUrl,
  mailBox: createSecretBox(SECRET_KEYS),
  // As when Temporal cannot be reached: the mails are written.
  mails: { start: () => Promise.reject(new Error('Temporal is away')) },
});

/** Sets an account that receives transfers. */
export const giveAccount = (
  service: TestService,
  { merchantId }: { merchantId: string },
  linkedAccountId: string,
) => setLinkedAccount(accountDeps(service), merchantId, usableAccount(linkedAccountId));
