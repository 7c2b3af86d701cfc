import { serviceTest } from '../support/service-test.ts';
import type { ServiceTestOptions } from '../support/service-test.ts';
import type { PageState } from './states.ts';
import { checkoutIn } from './states.ts';

/** `checkouts.in('paid')` is a new order of the file's merchant whose buyer's page shows that it is paid. */
export function checkoutTest(options: Partial<ServiceTestOptions> = {}) {
  const settings = {
    BUYER_RATE_LIMIT_PER_SECOND: '100000',
    SUPPORT_EMAIL: 'help@pay.example',
  };
  const payable = { linkedAccountId: 'acc_Asha' };
  return serviceTest({ time: 'real', settings, merchant: payable, ...options }).extend(
    'checkouts',
    ({ service, merchant }) => ({
      in: (state?: PageState, overrides?: Record<string, unknown>) =>
        checkoutIn(service, merchant, state, overrides),
    }),
  );
}
