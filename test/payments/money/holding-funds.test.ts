import { describe, expect } from 'vitest';
import { releaseFunds } from '../../../src/payments/funds/funds.ts';
import { GatewayRefused } from '../../../src/payments/gateway/gateway.ts';
import { reconcilePayments } from '../../../src/payments/reconcile/reconcile.ts';
import type { OrderRef } from '../../support/api-client.ts';
import {
  alerts,
  madeAtGateway,
  payAtGateway,
  sessionOf,
  setSwitches,
} from '../../support/gateway.ts';
import { giveAccount, loseAccounts } from '../../support/linked-accounts.ts';
import type { Merchant } from '../../support/merchant.ts';
import { startOrder } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const MINUTE_MS = 60_000;

const test = serviceTest({ time: 'real', productionGateway: true, merchant: { webhooks: false } });

test.beforeEach(({ service }) => service.clock.set(0));

const refusals = (service: TestService, { order_number }: OrderRef) =>
  alerts(service, 'gateway_refused', order_number);
const openInProduction = (by: Merchant, { order_number }: OrderRef) =>
  by.production.post(`/orders/${order_number}/payment-sessions`);
async function aPaidOrder(service: TestService, merchant: Merchant) {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const [row] = await service.sql<{ gatewayPaymentId: string }[]>`
    SELECT gateway_payment_id FROM orders WHERE order_number = ${order.order_number}`;
  const paymentId = row?.gatewayPaymentId ?? '';
  return { order, paymentId, transfers: () => madeAtGateway(service, paymentId, 'transfers') };
}

describe('a hold that the gateway refuses for good', () => {
  test('raises an alert, does not block the release, and is retried after an hour', async ({
    service,
    merchant,
  }) => {
    const { order, paymentId, transfers } = await aPaidOrder(service, merchant);
    await setSwitches(service, paymentId, { transfersRefused: true });
    await reconcilePayments(service.deps);
    expect(refusals(service, order)).toHaveLength(1);
    expect(
      await service.sql`
      SELECT money_lease_token FROM payments WHERE gateway_payment_id = ${paymentId}`,
    ).toEqual([{ moneyLeaseToken: null }]);
    await service.clock.set(50 * MINUTE_MS);
    await reconcilePayments(service.deps);
    expect(refusals(service, order)).toHaveLength(1);
    await setSwitches(service, paymentId, { transfersRefused: null });
    await service.clock.set(61 * MINUTE_MS);
    await reconcilePayments(service.deps);
    expect(await transfers()).toMatchObject([{ on_hold: true }]);
    expect(refusals(service, order)).toHaveLength(1);
  });

  test('leaves no open alert when the buyer is refunded instead', async ({ service, merchant }) => {
    const { order, paymentId } = await aPaidOrder(service, merchant);
    await setSwitches(service, paymentId, { transfersRefused: true });
    await reconcilePayments(service.deps);
    const path = `/orders/${order.order_number}`;
    const openAlerts = () => service.sql`
      SELECT kind FROM alerts WHERE subject = ${order.order_number} AND cleared_at IS NULL`;
    expect(await openAlerts()).toEqual([{ kind: 'gateway_refused' }]);
    await merchant.sandbox.post(`${path}/refund`, { reason: 'It is sold out' });
    await until(async () => (await merchant.sandbox.get(path)).body.data.status === 'REFUNDED');
    await reconcilePayments(service.deps);
    expect(await openAlerts()).toEqual([]);
  });
});

test.for([1, 2, 3, 200])(
  'a merchant whose name has %i characters is paid out in the sandbox',
  async (characters, { service }) => {
    const name = 'A'.repeat(characters);
    const { transfers } = await aPaidOrder(
      service,
      await service.newMerchant({ name, webhooks: false }),
    );
    await reconcilePayments(service.deps);
    expect(await transfers()).toMatchObject([{ on_hold: true }]);
  },
);

describe('in production, a merchant without a linked account', () => {
  test('has lost it, and its orders cannot be paid: 502 and an alert, until it has one', async ({
    service,
  }) => {
    const without = await service.newMerchant({ webhooks: false });
    const { orderNumber } = await startOrder(service, { ...without, environment: 'production' });
    const order = { order_number: orderNumber };
    expect((await openInProduction(without, order)).status).toBe(502);
    expect(alerts(service, 'no_linked_account', order.order_number)).toHaveLength(1);
    await expect(sessionOf(service, order)).rejects.toThrow('has no session');
    await giveAccount(service, without, 'acc_Late');
    expect((await openInProduction(without, order)).status).toBe(201);
  });

  test('that loses it before the capture gets no release, which raises an alert', async ({
    service,
  }) => {
    const merchant = await service.newMerchant({ webhooks: false, linkedAccountId: 'acc_Lost' });
    const { production } = merchant;
    const order = await production.create();
    await production.post(`/orders/${order.order_number}/payment-sessions`);
    const { gatewaySessionId } = await sessionOf(service, order);
    await loseAccounts(service, merchant);
    await payAtGateway(service, gatewaySessionId, {}, 'production');
    const path = `/orders/${order.order_number}`;
    await until(async () => (await production.get(path)).body.data.status === 'PAID');
    await reconcilePayments(service.deps);
    expect(refusals(service, order)).toHaveLength(1);
    await expect(releaseFunds(service.deps, order.order_number)).rejects.toThrow(GatewayRefused);
  });
});
