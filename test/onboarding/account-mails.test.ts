import { expect } from 'vitest';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import { prepareAccountChange } from '../../src/merchants/linked-accounts.ts';
import { requireMerchant } from '../../src/merchants/queries.ts';
import { setLinkedAccount } from '../../src/merchants/public.ts';
import { anAccountId } from '../support/linked-accounts.ts';
import { usableAccount } from '../support/merchant.ts';
import { mailsTo } from '../support/mails.ts';
import { onboardingTest } from './onboarding-test.ts';

const TIME = /\d{1,2} [A-Z][a-z]{2,3}, \d{1,2}:\d{2}\u00A0[ap]m/;

/** `set` gives the merchant an account, and `read` returns the mails that it has got, without Temporal. */
const test = onboardingTest()
  .extend('set', ({ deps, applicant }) => (id: string) => {
    return setLinkedAccount(deps, applicant, usableAccount(id));
  })
  .extend('read', ({ deps, applicant }) => async () => {
    const { email } = await requireMerchant(deps.sql, applicant);
    return mailsTo(deps.sql, email);
  });

test('a merchant gets a mail when its account is set, changes, and when the change is withdrawn', async ({
  set,
  read,
}) => {
  const [first, second] = [anAccountId(), anAccountId()];
  for (const account of [first, second, first]) await set(account);
  const mails = await read();
  expect(mails.map(({ subject }) => subject)).toEqual([
    'The account that you are paid out to is set',
    'The account that you are paid out to changes',
    'The account that you are paid out to does not change',
  ]);
  const [, changed] = mails;
  expect(changed?.text).toContain(
    `changes from •••• ${first.slice(-4)} to •••• ${second.slice(-4)} on`,
  );
  expect(changed?.text).toMatch(TIME);
  for (const { text } of mails) {
    expect(text).toContain('contact us at once');
    expect(text).not.toContain(first);
    expect(text).not.toContain(second);
  }
});

test('a merchant gets no mail when nothing changes', async ({ set, read }) => {
  const [first, second] = [anAccountId(), anAccountId()];
  for (const account of [first, first, second, second]) await set(account);
  expect(await read()).toHaveLength(2);
});

test('an approval with an account writes the mail, and one that is refused writes none', async ({
  deps,
  applicant,
  read,
}) => {
  const taken = anAccountId();
  const { merchantId } = await createMerchant(deps, { name: 'Kiran', email: 'k@example.com' });
  await setLinkedAccount(deps, merchantId, usableAccount(taken));
  const approveWith = async (account: string) => {
    const linkedAccount = await prepareAccountChange(deps, applicant, usableAccount(account));
    return changeMerchantStatus(deps, applicant, 'approve', { linkedAccount });
  };
  await expect(approveWith(taken)).rejects.toThrow('belongs to another merchant');
  expect(await read()).toEqual([]);
  await approveWith(anAccountId());
  expect(await read()).toHaveLength(1);
});
