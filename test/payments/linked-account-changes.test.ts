import { describe, expect } from 'vitest';
import { changeMerchantStatus, setLinkedAccount } from '../../src/merchants/commands.ts';
import { requireMerchant } from '../../src/merchants/queries.ts';
import { releaseFunds } from '../../src/payments/funds/funds.ts';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import { textOf } from '../checkout/buyer.ts';
import { dashboardTest } from '../dashboard/dashboard-test.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { askGateway, orderBeingPaid } from '../support/gateway.ts';
import {
  anAccountId,
  loseAccounts,
  newAccount,
  usableAccount,
} from '../support/linked-accounts.ts';
import type { Merchant } from '../support/merchant.ts';
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

/** An order of production that is paid, with the linked account to which its transfers go. */
async function aPaidOrder(service: TestService, merchant: Merchant) {
  const { order, order_number, pay, untilStatus } = await orderBeingPaid(
    service,
    merchant,
    'production',
  );
  const paymentId = await pay();
  await untilStatus('PAID');
  return {
    order,
    orderNumber: order_number,
    paymentId,
    /** The accounts of its transfers, newest first, and whether they are on hold. */
    async recipients() {
      const gateway = { config: service.config, environment: 'production' } as const;
      const path = `/v1/payments/${paymentId}/transfers`;
      const { items } = await askGateway<{ items: MadeTransfer[] }>(gateway, 'GET', path);
      return items.map(({ recipient, on_hold }) => [recipient, on_hold ? 'held' : 'released']);
    },
  };
}

interface MadeTransfer {
  recipient: string;
  on_hold: boolean;
}

describe('the account of a payment', () => {
  test('is the one at the capture: the hold and the release ignore a later change', async ({
    service,
  }) => {
    const [first, second] = [await newAccount(service), await newAccount(service)];
    const merchant = await service.newMerchant({ webhooks: false, linkedAccountId: first });
    const { orderNumber, recipients } = await aPaidOrder(service, merchant);
    await setLinkedAccount(adminOf(service), merchant.merchantId, usableAccount(second));
    await reconcilePayments(service.deps);
    expect(await recipients()).toEqual([[first, 'held']]);
    await releaseFunds(service.deps, orderNumber);
    expect(await recipients()).toEqual([[first, 'released']]);
  });

  test('is the first one of a merchant that had none, and stays so', async ({ service }) => {
    const [lost, first] = [await newAccount(service), await newAccount(service)];
    const merchant = await service.newMerchant({ webhooks: false, linkedAccountId: lost });
    const order = await orderBeingPaid(service, merchant, 'production');
    await loseAccounts(service, merchant);
    const paymentId = await order.pay();
    await order.untilStatus('PAID');
    await setLinkedAccount(adminOf(service), merchant.merchantId, usableAccount(first));
    await reconcilePayments(service.deps);
    const accounts = await service.sql`
      SELECT linked_account_id FROM payments WHERE gateway_payment_id = ${paymentId}`;
    expect(accounts).toEqual([{ linkedAccountId: first }]);
  });

  test.for(['acc_another', null])('cannot be changed to %s', async (account, { service }) => {
    const linkedAccountId = await newAccount(service);
    const merchant = await service.newMerchant({ webhooks: false, linkedAccountId });
    const { paymentId } = await aPaidOrder(service, merchant);
    await expect(service.sql`
      UPDATE payments SET linked_account_id = ${account}
      WHERE gateway_payment_id = ${paymentId}`).rejects.toThrow('does not change');
  });
});
