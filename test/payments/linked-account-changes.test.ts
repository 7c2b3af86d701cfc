import { describe, expect } from 'vitest';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { prepareAccountChange } from '../../src/merchants/linked-accounts.ts';
import { requireMerchant } from '../../src/merchants/queries.ts';
import { releaseFunds } from '../../src/payments/funds/funds.ts';
import { compareWithGateway } from '../../src/payments/reconcile/compare-gateway.ts';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import { textOf } from '../checkout/buyer.ts';
import { dashboardTest } from '../dashboard/dashboard-test.ts';
import { anOrder } from '../support/api-client.ts';
import { writeCallback, writeCapture } from '../../src/payments/captures/capture-queries.ts';
import { writeOrder } from '../support/orders.ts';
import { askGateway, capturedWhole, orderBeingPaid } from '../support/gateway.ts';
import {
  accountDeps,
  anAccountId,
  changeAccount,
  giveAccount,
  loseAccounts,
  newAccount,
} from '../support/linked-accounts.ts';
import { usableAccount, type Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';

const test = dashboardTest({
  time: 'real',
  productionGateway: true,
  merchant: { webhooks: false },
});

const HOUR_MS = 3_600_000;
const DELAY_MS = 72 * HOUR_MS;

test.beforeEach(({ service }) => service.clock.set(0));

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
    const fields = { linkedAccountId, accountReason: 'The merchant has opened it' };
    const { status, body } = await finance.post(path, fields);
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
    const deps = accountDeps(service);
    const account = usableAccount(linkedAccountId);
    const linkedAccount = await prepareAccountChange(deps, merchantId, account);
    await expect(
      changeMerchantStatus(deps, merchantId, 'approve', { linkedAccount }),
    ).rejects.toMatchObject({ code: 'BAD_REQUEST' });
    expect((await requireMerchant(service.sql, merchantId)).status).toBe('PENDING');
  });

  test('is refused to one of two merchants that get it at the same time', async ({ service }) => {
    const account = anAccountId();
    const merchants = [
      await service.newMerchant({ webhooks: false }),
      await service.newMerchant({ webhooks: false }),
    ];
    const set = await Promise.allSettled(
      merchants.map((merchant) => giveAccount(service, merchant, account)),
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
    await giveAccount(service, merchant, second);
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
    await giveAccount(service, merchant, first);
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

/** A merchant with an active account, and another account that no merchant has. */
async function aMerchantWithTwo(service: TestService) {
  const [first, second] = [await newAccount(service), await newAccount(service)];
  const merchant = await service.newMerchant({ webhooks: false, linkedAccountId: first });
  return { merchant, first, second };
}

const accountsOf = async ({ sql }: TestService, { merchantId }: Merchant) => {
  const { linkedAccounts, waitingAccountId } = await requireMerchant(sql, merchantId);
  return [linkedAccounts.production, waitingAccountId];
};

describe('a changed account', () => {
  test('is active after 72 hours: what is captured until then goes to the old one', async ({
    service,
  }) => {
    const { merchant, first, second } = await aMerchantWithTwo(service);
    await giveAccount(service, merchant, second);
    expect(await accountsOf(service, merchant)).toEqual([first, second]);
    await service.clock.set(DELAY_MS - HOUR_MS);
    const before = await aPaidOrder(service, merchant);
    await service.clock.set(DELAY_MS + HOUR_MS);
    expect(await accountsOf(service, merchant)).toEqual([second, null]);
    const after = await aPaidOrder(service, merchant);
    await reconcilePayments(service.deps);
    expect(await before.recipients()).toEqual([[first, 'held']]);
    expect(await after.recipients()).toEqual([[second, 'held']]);
  });

  test('gets nothing of what a callback has reported before, also if the gateway is asked only later', async ({
    service,
  }) => {
    const { sql } = service;
    const { merchant, first, second } = await aMerchantWithTwo(service);
    await giveAccount(service, merchant, second);
    await service.clock.set(DELAY_MS - HOUR_MS);
    const at = { gateway: 'razorpay', environment: 'production' } as const;
    const { merchantId } = merchant;
    const order = await writeOrder(service, { merchantId, environment: at.environment });
    const payment = capturedWhole('pay_reported_before', order);
    const reports = { type: 'capture', ...payment, gatewaySessionId: null } as const;
    const callback = { eventId: 'evt_before', event: 'payment.captured', body: '{}', reports };
    await writeCallback(sql, { ...at, ...callback });
    await service.clock.set(DELAY_MS + HOUR_MS);
    await writeCapture(sql, { at, payment });
    expect(
      await sql`SELECT linked_account_id FROM payments WHERE gateway_payment_id = 'pay_reported_before'`,
    ).toEqual([{ linkedAccountId: first }]);
  });

  test('that is set and set back gets nothing of what is captured between', async ({ service }) => {
    const { merchant, first, second } = await aMerchantWithTwo(service);
    await giveAccount(service, merchant, second);
    const paid = await aPaidOrder(service, merchant);
    await giveAccount(service, merchant, first);
    await reconcilePayments(service.deps);
    await releaseFunds(service.deps, paid.orderNumber);
    expect(await paid.recipients()).toEqual([[first, 'released']]);
    const { faults } = await compareWithGateway(service.deps);
    expect(faults.filter(({ fault }) => fault.includes('a transfer to'))).toEqual([]);
    expect(await accountsOf(service, merchant)).toEqual([first, null]);
    await service.clock.set(DELAY_MS + HOUR_MS);
    expect(await accountsOf(service, merchant)).toEqual([first, null]);
  });

  test('replaces one that waits, and the 72 hours start again', async ({ service }) => {
    const { merchant, first, second } = await aMerchantWithTwo(service);
    const third = await newAccount(service);
    await giveAccount(service, merchant, second);
    await service.clock.set(DELAY_MS - HOUR_MS);
    await giveAccount(service, merchant, third);
    expect(await accountsOf(service, merchant)).toEqual([first, third]);
    await service.clock.set(DELAY_MS + HOUR_MS);
    expect(await accountsOf(service, merchant)).toEqual([first, third]);
    await service.clock.set(2 * DELAY_MS);
    expect(await accountsOf(service, merchant)).toEqual([third, null]);
    const history = await service.sql`
      SELECT linked_account_id FROM linked_account_changes
      WHERE merchant_id = ${merchant.merchantId} ORDER BY active_from`;
    expect(history.map(({ linkedAccountId }) => linkedAccountId)).toEqual([first, third]);
  });

  test('that is set again while it waits is active at the same time', async ({ service }) => {
    const { merchant, second } = await aMerchantWithTwo(service);
    const set = await giveAccount(service, merchant, second);
    await service.clock.set(HOUR_MS);
    expect(await giveAccount(service, merchant, second)).toEqual(set);
  });

  test('that was withdrawn can be the account of another merchant; one that was active cannot', async ({
    service,
  }) => {
    const { merchant, first, second } = await aMerchantWithTwo(service);
    const [third, other] = [await newAccount(service), await service.newMerchant()];
    await giveAccount(service, merchant, second);
    await giveAccount(service, merchant, third);
    await giveAccount(service, other, second);
    expect(await accountsOf(service, other)).toEqual([second, null]);
    await service.clock.set(DELAY_MS + HOUR_MS);
    expect(await accountsOf(service, merchant)).toEqual([third, null]);
    await expect(giveAccount(service, other, first)).rejects.toThrow('belongs to another merchant');
  });

  test('is set by one of two operators at the same moment: the other looks again', async ({
    service,
  }) => {
    const { merchant, second } = await aMerchantWithTwo(service);
    const deps = accountDeps(service);
    const prepared = await prepareAccountChange(deps, merchant.merchantId, usableAccount(second));
    await giveAccount(service, merchant, await newAccount(service));
    await expect(
      changeMerchantStatus(deps, merchant.merchantId, 'approve', { linkedAccount: prepared }),
    ).rejects.toMatchObject({ code: 'INVALID_STATE' });
  });

  test('is asked for while it waits: one that receives no transfers is an alert', async ({
    service,
  }) => {
    const { merchant, second } = await aMerchantWithTwo(service);
    await giveAccount(service, merchant, second);
    await changeAccount(service, second, { activation: 'verification_pending' });
    await service.clock.set(25 * HOUR_MS);
    await reconcilePayments(service.deps);
    const open = () => service.sql`
      SELECT details->>'state' AS state, details->>'activeFrom' IS NOT NULL AS waits FROM alerts
      WHERE kind = 'linked_account_unusable' AND subject = ${`razorpay:${second}`}
        AND cleared_at IS NULL`;
    expect(await open()).toEqual([{ state: 'waiting', waits: true }]);
    // The active one still takes payments.
    expect((await merchant.production.post('/orders', anOrder())).status).toBe(201);
    await service.clock.set(DELAY_MS + HOUR_MS);
    expect((await merchant.production.post('/orders', anOrder())).status).toBe(403);
    await changeAccount(service, second, { activation: 'activated' });
    await reconcilePayments(service.deps);
    expect(await open()).toEqual([]);
    expect((await merchant.production.post('/orders', anOrder())).status).toBe(201);
  });

  test('is on the page of the merchant, with its time', async ({
    service,
    operators: { finance },
  }) => {
    const { merchant, first, second } = await aMerchantWithTwo(service);
    const { activeFrom } = await giveAccount(service, merchant, second);
    const { body } = await finance.get(`/operator/merchants/${merchant.merchantId}`);
    expect(textOf(body)).toContain(`Production pays out to ${first}`);
    expect(textOf(body)).toContain(`It changes to ${second}`);
    expect(body).toContain(activeFrom.toISOString().slice(0, 16));
  });
});
