import { describe, expect } from 'vitest';
import { DomainError } from '../../../src/domain/index.ts';
import { holdFunds, releaseFunds } from '../../../src/payments/funds/funds.ts';
import {
  MoneyLeaseTaken,
  renewMoneyLease,
  withMoneyLease,
} from '../../../src/payments/funds/money-lease.ts';
import { refundOrder } from '../../../src/payments/funds/refunds.ts';
import { GatewayUnavailable } from '../../../src/payments/gateway/gateway.ts';
import type { OrderRef } from '../../support/api-client.ts';
import type { Gateway } from '../../support/gateway.ts';
import { askGateway, atRazorpay, madeAtGateway, openChargeback } from '../../support/gateway.ts';
import type { Merchant } from '../../support/merchant.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

/** A paid order, and the number of transfers of its payment that the gateway was asked to make. */
async function aPaidOrder(service: TestService, merchant: Merchant, gateway: Gateway) {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const paymentId = await paymentOf(service, order);
  const path = `/v1/payments/${paymentId}/transfers`;
  /** Begins a release, which is suspended at its look-up of a transfer until the fault ends. */
  async function standStill() {
    const fault = { kind: 'held', method: 'GET', path, count: 1 } as const;
    const { hits, endFault } = await gateway.addFault(fault);
    const release = releaseFunds(service.deps, order.order_number);
    await until(async () => (await hits()) === 1);
    return { release, endFault };
  }
  /** Counts the requested transfers, and makes them immediately. */
  const countPosts = () => gateway.addFault({ kind: 'late', method: 'POST', path, delayMs: 0 });
  /** Counts the requested transfers; each is made when the fault ends. */
  const holdPosts = () => gateway.addFault({ kind: 'held', method: 'POST', path, work: 'after' });
  return { orderNumber: order.order_number, paymentId, standStill, countPosts, holdPosts };
}

async function paymentOf({ sql }: TestService, { order_number }: OrderRef): Promise<string> {
  const [row] = await sql<{ gatewayPaymentId: string }[]>`
    SELECT gateway_payment_id FROM orders WHERE order_number = ${order_number}`;
  return row!.gatewayPaymentId;
}

/** Acts as if this process had been suspended for longer than its lease. */
const outlastLease = ({ sql }: TestService, paymentId: string) => sql`
  UPDATE payments SET money_lease_ends_at = clock_timestamp() - interval '1 second'
  WHERE gateway_payment_id = ${paymentId}`;

describe('of two processes that move the money of one payment', () => {
  test('the second waits', async ({ service, merchant, gateway }) => {
    const { orderNumber, standStill } = await aPaidOrder(service, merchant, gateway);
    const { release: first, endFault } = await standStill();
    await Promise.all([
      expect(refundOrder(service.deps, orderNumber, 'dispute')).rejects.toThrow(MoneyLeaseTaken),
      expect(releaseFunds(service.deps, orderNumber)).rejects.toThrow(MoneyLeaseTaken),
    ]);
    await endFault();
    expect(await first).toEqual({ outcome: 'moved' });
  });

  test('the first moves nothing after it was suspended and the second has taken over', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { orderNumber, paymentId, standStill, countPosts } = await aPaidOrder(
      service,
      merchant,
      gateway,
    );
    const posts = await countPosts();
    const { release: first, endFault } = await standStill();
    await outlastLease(service, paymentId);
    expect(await releaseFunds(service.deps, orderNumber)).toEqual({ outcome: 'moved' });
    await endFault();
    await expect(first).rejects.toThrow(MoneyLeaseTaken);
    expect(await posts.hits()).toBe(1);
    expect(await madeAtGateway(service, paymentId, 'transfers')).toMatchObject([
      { on_hold: false },
    ]);
  });
});

test('a merchant who is suspended while the gateway is asked is not paid', async ({
  service,
  gateway,
}) => {
  const merchant = await service.newMerchant({ webhooks: false });
  const { paymentId, standStill } = await aPaidOrder(service, merchant, gateway);
  const { release, endFault } = await standStill();
  await service.sql`
    UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${merchant.merchantId}`;
  await endFault();
  await expect(release).rejects.toThrow('SUSPENDED');
  expect(await madeAtGateway(service, paymentId, 'transfers')).toEqual([]);
});

describe('an operator’s settlement beside the release of money on hold', () => {
  const settle = ({ sql }: TestService, paymentId: string) =>
    withMoneyLease(sql, atRazorpay(paymentId), async () => 'settled', { isSettlement: true });

  test('takes over from a process that was suspended, which then moves nothing', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { orderNumber, paymentId, standStill } = await aPaidOrder(service, merchant, gateway);
    await holdFunds(service.deps, orderNumber);
    const { release, endFault } = await standStill();
    await outlastLease(service, paymentId);
    expect(await settle(service, paymentId)).toBe('settled');
    await endFault();
    await expect(release).rejects.toThrow(MoneyLeaseTaken);
    expect(await madeAtGateway(service, paymentId, 'transfers')).toMatchObject([{ on_hold: true }]);
  });

  test('waits after a request whose outcome is unknown, for which the next release need not wait', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { orderNumber, paymentId } = await aPaidOrder(service, merchant, gateway);
    await holdFunds(service.deps, orderNumber);
    const { endFault } = await gateway.addFault({ kind: 'error', method: 'PATCH' });
    await expect(releaseFunds(service.deps, orderNumber)).rejects.toThrow(GatewayUnavailable);
    await expect(settle(service, paymentId)).rejects.toThrow(MoneyLeaseTaken);
    // A try that fails before it asks for anything proves nothing about the one before it.
    const { endFault: endReads } = await gateway.addFault({ kind: 'error', method: 'GET' });
    await expect(releaseFunds(service.deps, orderNumber)).rejects.toThrow(GatewayUnavailable);
    await expect(settle(service, paymentId)).rejects.toThrow(MoneyLeaseTaken);
    await endReads();
    await endFault();
    expect(await releaseFunds(service.deps, orderNumber)).toEqual({ outcome: 'moved' });
  });

  test('is waited for by everybody after a request of its own whose outcome is unknown', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { orderNumber, paymentId } = await aPaidOrder(service, merchant, gateway);
    const unknown = withMoneyLease(
      service.sql,
      atRazorpay(paymentId),
      async (lease) => {
        await renewMoneyLease(service.sql, lease);
        const cause = new GatewayUnavailable('takeBackHeld', 'a time-out');
        throw new DomainError('GATEWAY_UNAVAILABLE', 'Try again later', { cause });
      },
      { isSettlement: true },
    );
    await expect(unknown).rejects.toThrow('Try again later');
    await expect(releaseFunds(service.deps, orderNumber)).rejects.toThrow(MoneyLeaseTaken);
    await outlastLease(service, paymentId);
    expect(await releaseFunds(service.deps, orderNumber)).toEqual({ outcome: 'moved' });
  });
});

test('a hold that takes longer than its lease, because the merchant’s account is new, is made once', async ({
  service,
  gateway,
}) => {
  const merchant = await service.newMerchant({ webhooks: false });
  const { orderNumber, paymentId, holdPosts } = await aPaidOrder(service, merchant, gateway);
  const posts = await holdPosts();
  const accounts = await gateway.addFault({ kind: 'held', path: '/v2/accounts', count: 1 });
  const first = holdFunds(service.deps, orderNumber);
  await until(async () => (await accounts.hits()) === 1);
  await outlastLease(service, paymentId);
  const second = holdFunds(service.deps, orderNumber);
  await until(async () => (await posts.hits()) === 1);
  // The second process's transfer is being made when the first one looks for a transfer.
  await accounts.endFault();
  await expect(first).rejects.toThrow(MoneyLeaseTaken);
  expect(await posts.hits()).toBe(1);
  await posts.endFault();
  await second;
  expect(await madeAtGateway(service, paymentId, 'transfers')).toMatchObject([{ on_hold: true }]);
});

test('a lease that expired without another process is renewed, and the money moves', async ({
  service,
  merchant,
  gateway,
}) => {
  const { paymentId, standStill } = await aPaidOrder(service, merchant, gateway);
  const { release, endFault } = await standStill();
  await outlastLease(service, paymentId);
  await endFault();
  expect(await release).toEqual({ outcome: 'moved' });
});

test('a release of which the service does not know is booked, although a chargeback is open by then', async ({
  service,
  merchant,
  gateway,
}) => {
  const { orderNumber, paymentId } = await aPaidOrder(service, merchant, gateway);
  await holdFunds(service.deps, orderNumber);
  // The answer to the request that lifted the hold was lost.
  const [transfer] = await madeAtGateway(service, paymentId, 'transfers');
  await askGateway(service, 'PATCH', `/v1/transfers/${transfer!.id}`, { on_hold: false });
  await openChargeback(service, paymentId);
  expect(await releaseFunds(service.deps, orderNumber)).toEqual({ outcome: 'moved' });
});
