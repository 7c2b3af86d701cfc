import { describe, expect } from 'vitest';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import type { Decision } from '../../src/onboarding/public.ts';
import {
  decideMerchant,
  decisionsOf,
  listUnderReview,
  openAccountNumber,
  readReview,
  searchMerchants,
} from '../../src/onboarding/public.ts';
import { setLinkedAccount } from '../../src/merchants/public.ts';
import { auditOf } from '../support/audit.ts';
import { inParallel } from '../support/in-parallel.ts';
import { anAccountId } from '../support/linked-accounts.ts';
import { usableAccount } from '../support/merchant.ts';
import {
  AN_ACCOUNT,
  aSignedUpMerchant,
  complete,
  seenNow,
  submit,
} from '../support/applications.ts';
import { mailsTo } from '../support/mails.ts';
import { onboardingTest, OPERATOR } from './onboarding-test.ts';

const test = onboardingTest()
  .extend('operator', ({ deps }) => ({ ...deps, actor: OPERATOR }))
  .extend('decide', ({ operator }) => async (merchantId: string, decision: Partial<Decision>) => {
    const seenVersion = await seenNow(operator.sql, merchantId);
    const whole = { change: 'approve', reason: 'Checked', seenVersion, ...decision } as const;
    return decideMerchant(operator, merchantId, whole);
  })
  .extend('underReview', async ({ deps, applicant }) => {
    await complete(deps, applicant);
    await submit(deps, applicant);
    return applicant;
  });

describe('a decision', () => {
  test('is made with a reason, and the audit row has it', async ({ deps, underReview, decide }) => {
    await decide(underReview, { reason: ' All documents fit. ' });
    const { merchant, history } = await readReview(deps.sql, underReview);
    expect(merchant.status).toBe('APPROVED');
    expect(history).toMatchObject([
      { action: 'merchant.approve', actor: OPERATOR.name, reason: 'All documents fit.' },
      { action: 'application.submit', actor: deps.actor.name, reason: null },
      { action: 'merchant.create' },
    ]);
  });

  test.for([
    ['nothing', ''],
    ['blanks', ' \n '],
    ['more than 1000 characters', 'x'.repeat(1001)],
  ] as const)(
    'needs a reason: %s is refused',
    async ([_what, reason], { deps, underReview, decide }) => {
      await expect(decide(underReview, { reason })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
      expect((await readReview(deps.sql, underReview)).merchant.status).toBe('PENDING');
    },
  );

  test('cannot approve what was not submitted', async ({ applicant, decide }) => {
    await expect(decide(applicant, { change: 'approve' })).rejects.toThrow(
      'Cannot approve; the merchant has not submitted its application',
    );
  });

  test('cannot approve a rejected application that was not submitted again', async ({
    underReview,
    decide,
  }) => {
    await decide(underReview, { change: 'reject' });
    await expect(decide(underReview, { change: 'approve' })).rejects.toThrow(
      'Cannot approve; the merchant is rejected, and must submit its application again first',
    );
  });

  test('approves a merchant made on the command line, for which no person can submit', async ({
    deps,
    operator,
    decide,
  }) => {
    const { merchantId } = await createMerchant(operator, {
      name: 'Kiran',
      email: 'k@example.com',
    });
    expect(decisionsOf(await readReview(deps.sql, merchantId))).toEqual(['approve', 'reject']);
    await decide(merchantId, { change: 'approve' });
    await changeMerchantStatus(operator, merchantId, 'reject', { reason: 'odd' });
    await decide(merchantId, { change: 'approve' });
    expect((await readReview(deps.sql, merchantId)).merchant.status).toBe('APPROVED');
  });

  test('suspends, activates and revokes', async ({ deps, underReview, decide }) => {
    const stateAfter = async (change: Decision['change']) => {
      await decide(underReview, { change, reason: `to ${change}` });
      return (await readReview(deps.sql, underReview)).application.state;
    };
    expect(await stateAfter('approve')).toBe('not_ready');
    expect(await stateAfter('suspend')).toBe('suspended');
    await expect(stateAfter('suspend')).rejects.toThrow(
      'Cannot suspend; the merchant is suspended',
    );
    expect(await stateAfter('activate')).toBe('not_ready');
    expect(await stateAfter('reject')).toBe('rejected');
    const { application } = await readReview(deps.sql, underReview);
    expect(application.statusReason).toBe('to reject');
  });

  test('about an unknown merchant is not found', async ({ operator }) => {
    const decision = { change: 'approve', reason: 'x', seenVersion: 'x' } as const;
    await expect(decideMerchant(operator, 'mer_unknown', decision)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });
});

describe('the mail about a decision', () => {
  /** The mails that wait for the merchant, oldest first. */
  test('is written with the decision, also while Temporal is away, with the reason', async ({
    deps,
    underReview,
    decide,
  }) => {
    await decide(underReview, { change: 'reject', reason: 'The cheque is not readable' });
    await submit(deps, underReview);
    await decide(underReview, { change: 'approve', reason: 'internal words' });
    await decide(underReview, { change: 'suspend', reason: 'Too many disputes' });
    await decide(underReview, { change: 'activate', reason: 'internal words' });
    const { merchant } = await readReview(deps.sql, underReview);
    const mails = await mailsTo(deps.sql, merchant.email);
    expect(mails.map(({ subject }) => subject)).toEqual([
      'Your application needs a change',
      'Your business is approved',
      'Your account is suspended',
      'Your account is active again',
    ]);
    expect(mails[0]?.text).toContain('\n\nThe cheque is not readable\n\n');
    expect(mails[1]?.text).toContain('In production your account cannot take payments yet');
    expect(mails[2]?.text).toContain('\n\nToo many disputes\n\n');
    for (const { text } of mails) {
      expect(text).toContain('https://pay.example.com/dashboard');
      expect(text).not.toContain('internal words');
    }
  });

  test('of an approval with a linked account says that production takes payments', async ({
    deps,
    operator,
    underReview,
    decide,
  }) => {
    await setLinkedAccount(operator, underReview, usableAccount(anAccountId()));
    await decide(underReview, {});
    const { merchant, application } = await readReview(deps.sql, underReview);
    const [, mail] = await mailsTo(deps.sql, merchant.email);
    expect(mail?.text).toContain('accept payments in production now');
    expect(application.state).toBe('approved');
  });

  test('is not written for a decision that is refused', async ({ deps, underReview, decide }) => {
    const { merchant } = await readReview(deps.sql, underReview);
    await decide(underReview, { change: 'activate' }).catch(() => undefined);
    await decide(underReview, { seenVersion: 'stale' }).catch(() => undefined);
    expect(await mailsTo(deps.sql, merchant.email)).toEqual([]);
  });
});

describe('the full account number', () => {
  test('is opened with an audit row that does not contain it', async ({
    operator,
    underReview,
  }) => {
    expect(await openAccountNumber(operator, underReview)).toBe(AN_ACCOUNT.accountNumber);
    const audit = await auditOf(operator.sql, underReview);
    expect(audit.at(-1)).toMatchObject({ actor: OPERATOR.name, action: 'accountNumber.read' });
    expect(JSON.stringify(audit)).not.toContain(AN_ACCOUNT.accountNumber);
  });

  test('of a merchant without one is not found, and leaves no audit row', async ({
    operator,
    applicant,
  }) => {
    await expect(openAccountNumber(operator, applicant)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(await auditOf(operator.sql, applicant)).toHaveLength(1);
  });

  test('copied to another merchant in the database does not open', async ({
    database,
    deps,
    operator,
    underReview,
  }) => {
    const other = await aSignedUpMerchant(deps);
    await database.sql`
      INSERT INTO merchant_applications (merchant_id, account_number_sealed, account_last_four)
      SELECT ${other}, account_number_sealed, account_last_four
      FROM merchant_applications WHERE merchant_id = ${underReview}`;
    await expect(openAccountNumber(operator, other)).rejects.toThrow('The sealed secret');
  });
});

describe('the lists', () => {
  test('applications under review: the one that has waited longest first, decided ones not', async ({
    deps,
    decide,
  }) => {
    const submitted: string[] = [];
    for (let number = 0; number < 4; number += 1) {
      const merchantId = await aSignedUpMerchant(deps);
      await complete(deps, merchantId);
      submitted.push(merchantId);
    }
    const [first = '', second = '', third = '', fourth = ''] = submitted;
    for (const merchantId of [third, first, second, fourth]) await submit(deps, merchantId);
    await decide(first, { change: 'approve' });
    await decide(third, { change: 'reject' });
    await submit(deps, third);
    const listed = (await listUnderReview(deps.sql)).map(({ merchantId }) => merchantId);
    expect(listed.filter((id) => submitted.includes(id))).toEqual([second, fourth, third]);
  });

  test('a search finds names, addresses and identifiers, and takes % and _ as they are', async ({
    deps,
    underReview,
  }) => {
    const found = async (text: string) => {
      const { merchants } = await searchMerchants(deps.sql, { text });
      return merchants.some(({ merchantId }) => merchantId === underReview);
    };
    const { merchant } = await readReview(deps.sql, underReview);
    for (const text of [
      underReview,
      merchant.email,
      'asha tex',
      'PRIVATE lim',
      'aagcb7383j',
      '29AAGCB7383J1Z4',
    ]) {
      expect([text, await found(text)]).toEqual([text, true]);
    }
    for (const text of ['%', '_', 'mer_', '\\', "'", 'Nobody']) {
      expect([text, await found(text)]).toEqual([text, false]);
    }
  });

  test('all merchants are listed in pages, the newest first, each once', async ({ deps }) => {
    const created: string[] = [];
    await inParallel(Array.from({ length: 60 }), 10, async () => {
      const merchant = { name: 'Listed Ltd', email: 'listed@example.com' };
      created.push((await createMerchant(deps, merchant)).merchantId);
    });
    const listed: string[] = [];
    let before: string | undefined;
    do {
      const page = await searchMerchants(deps.sql, {
        text: 'Listed Ltd',
        status: 'PENDING',
        before,
      });
      listed.push(...page.merchants.map(({ merchantId }) => merchantId));
      before = page.next;
    } while (before !== undefined);
    expect(listed).toEqual(created.toSorted().toReversed());
  });
});

test('the linked account is set whatever the status, with an audit row', async ({
  deps,
  operator,
  applicant,
}) => {
  const [first, second] = [anAccountId(), anAccountId()];
  await setLinkedAccount(operator, applicant, usableAccount(first));
  await setLinkedAccount(operator, applicant, usableAccount(second));
  const { merchant } = await readReview(deps.sql, applicant);
  expect(merchant).toMatchObject({
    status: 'PENDING',
    linkedAccounts: { production: first },
    waitingAccountId: second,
  });
  expect((await auditOf(deps.sql, applicant)).at(-1)).toMatchObject({
    action: 'merchant.linkedAccount',
    details: { gateway: 'razorpay', linkedAccountId: second },
  });
  await expect(
    setLinkedAccount(operator, 'mer_unknown', usableAccount(anAccountId())),
  ).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
