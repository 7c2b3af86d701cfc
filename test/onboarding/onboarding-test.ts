import type { AccountChangeDeps } from '../../src/merchants/public.ts';
import type { OnboardingDeps, ReviewDeps } from '../../src/onboarding/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { aSignedUpMerchant } from '../support/applications.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';

export const OPERATOR = { name: 'operator:ravi@example.com', address: '192.0.2.7' };

/** The dependencies of the merchant's user and of an operator, with the service's privileges. */
const depsOf = ({ serviceSql }: TestDatabase): OnboardingDeps & ReviewDeps & AccountChangeDeps => ({
  sql: serviceSql,
  dataBox: createSecretBox(SECRET_KEYS),
  mailBox: createSecretBox(SECRET_KEYS),
  // As when Temporal cannot be reached: the sweep sends the mails later.
  mails: { start: () => Promise.reject(new Error('Temporal is away')) },
  publicBaseUrl: 'https://pay.example.com',
  linkedAccountChangeMs: 72 * 3_600_000,
  actor: TEST_ACTOR,
});

/** The `test` of a file about applications: `applicant` is a new merchant with an empty draft. */
export function onboardingTest() {
  return databaseTest()
    .extend('deps', { scope: 'file' }, ({ database }) => depsOf(database))
    .extend('applicant', ({ deps }) => aSignedUpMerchant(deps));
}
