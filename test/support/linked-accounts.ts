import type { CheckedAccount } from '../../src/payments/public.ts';
import { simulator } from './gateway.ts';
import type { TestService } from './service.ts';

/** An account that receives transfers, as if its gateway had just said so; the gateway need not have it. */
export const usableAccount = (linkedAccountId: string, gateway = 'razorpay'): CheckedAccount => ({
  gateway,
  linkedAccountId,
  state: 'activated',
  transfersFrom: new Date(0),
  checkAgainMs: 86_400_000,
});

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
