import { describe, expect } from 'vitest';
import { changeMerchantStatus, setLinkedAccount } from '../../src/merchants/commands.ts';
import { requireMerchant } from '../../src/merchants/queries.ts';
import { textOf } from '../checkout/buyer.ts';
import { dashboardTest } from '../dashboard/dashboard-test.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { anAccountId, newAccount, usableAccount } from '../support/linked-accounts.ts';
import type { TestService } from '../support/service.ts';

const test = dashboardTest({
  time: 'real',
  productionGateway: true,
  merchant: { webhooks: false },
});

test.beforeEach(({ service }) => service.clock.set(0));

const adminOf = ({ sql }: TestService) => ({ sql, actor: TEST_ACTOR });

const accountOf = async ({ sql }: TestService, merchantId: string) =>
  (await requireMerchant(sql, merchantId)).linkedAccounts.production;

describe('an account of another merchant', () => {
  test('is refused on the page, which does not say whose it is', async ({
    service,
    operators: { finance },
  }) => {
    const linkedAccountId = await newAccount(service);
    const owner = await service.newMerchant({ webhooks: false, linkedAccountId });
    const { merchantId } = await service.newMerchant({ webhooks: false });
    const path = `/operator/merchants/${merchantId}/linked-account`;
    const { status, body } = await finance.post(path, { linkedAccountId });
    expect([status, textOf(body)]).toEqual([
      400,
      expect.stringContaining(`The linked account ${linkedAccountId} belongs to another merchant`),
    ]);
    expect(body).not.toContain(owner.merchantId);
    expect(await accountOf(service, merchantId)).toBeUndefined();
  });

  test('is refused with the approval, which is not made', async ({ service }) => {
    const linkedAccountId = anAccountId();
    await service.newMerchant({ webhooks: false, linkedAccountId });
    const { merchantId } = await service.newMerchant({ webhooks: false });
    await service.sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
    const linkedAccount = usableAccount(linkedAccountId);
    await expect(
      changeMerchantStatus(adminOf(service), merchantId, 'approve', { linkedAccount }),
    ).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    expect((await requireMerchant(service.sql, merchantId)).status).toBe('PENDING');
  });

  test('is refused to one of two merchants that get it at the same time', async ({ service }) => {
    const account = usableAccount(anAccountId());
    const merchants = [
      await service.newMerchant({ webhooks: false }),
      await service.newMerchant({ webhooks: false }),
    ];
    const set = await Promise.allSettled(
      merchants.map(({ merchantId }) => setLinkedAccount(adminOf(service), merchantId, account)),
    );
    expect(set.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});
