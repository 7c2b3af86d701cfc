import { describe, expect } from 'vitest';
import { COMPARE_GATEWAY_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { releaseFunds } from '../../src/payments/funds/funds.ts';
import { moneyKey } from '../../src/payments/gateway/gateway.ts';
import type { Gateways } from '../../src/payments/gateway/gateways.ts';
import {
  alertOnDifferences,
  compareWithGateway,
} from '../../src/payments/reconcile/compare-gateway.ts';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import { recordRefundsOf } from '../../src/payments/reversals/reversals.ts';
import { adminCli } from '../support/admin-cli.ts';
import { askGateway, SANDBOX, simulator } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const AMOUNT_PAISE = 49_950;

const test = serviceTest({ time: 'skipping', callbacks: false, merchant: { webhooks: false } });

/** The time-skipping server has no list of workflows to compare the open orders with. */
const cliOf = ({ env: { TEMPORAL_ADDRESS: _address, ...env } }: TestService) => adminCli(env);

const linkedAccountOf = async ({ sql }: TestService, gatewayPaymentId: string) => {
  const [payment] = await sql<{ linkedAccountId: string }[]>`
    SELECT linked_account_id FROM payments WHERE gateway_payment_id = ${gatewayPaymentId}`;
  return payment?.linkedAccountId ?? '';
};

/** Someone with the keys of the gateway transfers a payment to another account, under the service's key. */
async function transferElsewhere(service: TestService, gatewayPaymentId: string) {
  const email = `${gatewayPaymentId}@example.com`.toLowerCase();
  const { linkedAccountId: account } = await service.deps.gateways
    .forOrder(SANDBOX)
    .createLinkedAccount({ email, name: 'Lamp Shop' });
  const { items } = await askGateway<{ items: { id: string }[] }>(
    service,
    'POST',
    `/v1/payments/${gatewayPaymentId}/transfers`,
    {
      transfers: [
        {
          account,
          amount: AMOUNT_PAISE,
          currency: 'INR',
          on_hold: true,
          notes: { idempotency_key: moneyKey(gatewayPaymentId, 'transfer') },
        },
      ],
    },
  );
  const id = items[0]?.id ?? '';
  return {
    account,
    reverse: () =>
      askGateway(service, 'POST', `/v1/transfers/${id}/reversals`, { amount: AMOUNT_PAISE }),
  };
}

describe("the ledger and the gateway's own figures", () => {
  test('agree on orders in every status, whose money is held, released, refunded and reversed', async ({
    service,
    orders,
  }) => {
    for (const status of ['PAID', 'DISPUTE_OPEN', 'COMPLETED', 'REFUNDED'] as const) {
      await orders.in(status);
    }
    await reconcilePayments(service.deps);
    const reversed = await orders.in('DELIVERED');
    await simulator(service, 'POST', `/payments/${await reversed.paymentId()}/refund`, {
      amountPaise: 100,
    });
    // The gateway is ahead until the refund is recorded.
    expect(await compareWithGateway(service.deps)).toMatchObject({
      faults: [
        {
          orderNumber: reversed.orderNumber,
          fault: 'refunded 0 paise, but the gateway says 100',
        },
      ],
    });
    await recordRefundsOf(service.deps, SANDBOX, await reversed.paymentId());
    expect(await compareWithGateway(service.deps)).toMatchObject({
      comparedCount: 5,
      movingCount: 0,
      faultCount: 0,
      notAskedCount: 0,
    });
  });

  test('are read again where they differ, because money may have moved between the two readings', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('DELIVERED');
    const gatewayPaymentId = await order.paymentId();
    await reconcilePayments(service.deps);
    await simulator(service, 'POST', `/payments/${gatewayPaymentId}/refund`, { amountPaise: 100 });
    const { gateways } = service.deps;
    const forOrder: Gateways['forOrder'] = (ref) => {
      const gateway = gateways.forOrder(ref);
      return {
        ...gateway,
        async fetchTransferred(id) {
          const transferred = await gateway.fetchTransferred(id);
          if (id === gatewayPaymentId) await recordRefundsOf(service.deps, SANDBOX, id);
          return transferred;
        },
      };
    };
    const { faults } = await compareWithGateway({
      ...service.deps,
      gateways: { ...gateways, forOrder },
    });
    expect(faults).toEqual([]);
  });

  test('differ if the gateway has released held funds', async ({ service, orders }) => {
    const order = await orders.in('PAID');
    const gatewayPaymentId = await order.paymentId();
    const gateway = service.deps.gateways.forOrder(SANDBOX);
    await reconcilePayments(service.deps);
    const cli = cliOf(service);
    expect((await cli.run('ledger', 'verify', '--gateway')).code).toBe(0);
    await gateway.releaseFunds({
      gatewayPaymentId,
      amountPaise: AMOUNT_PAISE,
      linkedAccountId: await linkedAccountOf(service, gatewayPaymentId),
      idempotencyKey: `${gatewayPaymentId}-transfer`,
      knownFailures: 0,
      beforeMoving: async () => undefined,
    });
    const { code, stdout } = await cli.run('ledger', 'verify', '--gateway');
    expect(code).toBe(1);
    expect(stdout).toContain(`released 0 paise, but the gateway says ${AMOUNT_PAISE}`);
    expect(stdout).toContain(`set aside ${AMOUNT_PAISE} paise, but the gateway says 0`);
    expect(stdout).toContain('The gateway differs: 2 figures.');
    // Without --gateway the command does not ask the gateway.
    expect((await cli.run('ledger', 'verify')).code).toBe(0);
  });

  test('differ if a transfer went to another account, which is not released', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('PAID');
    const gatewayPaymentId = await order.paymentId();
    const { account } = await transferElsewhere(service, gatewayPaymentId);
    await reconcilePayments(service.deps);
    const own = await linkedAccountOf(service, gatewayPaymentId);
    await expect(releaseFunds(service.deps, order.orderNumber)).rejects.toThrow('OTHER_RECIPIENT');
    expect(await order.made('transfers')).toMatchObject([{ on_hold: true }]);
    const { code, stdout } = await cliOf(service).run('ledger', 'verify', '--gateway');
    expect(code).toBe(1);
    expect(stdout).toContain(`a transfer to ${account} instead of ${own}`);
  });

  test('are compared for all payments except those that the gateway does not return', async ({
    service,
    orders,
    gateway,
  }) => {
    const dumb = await orders.in('PAID');
    const path = `/v1/payments/${await dumb.paymentId()}`;
    await gateway.addFault({ kind: 'error', method: 'GET', path });
    const { comparedCount, notAskedCount, notAsked } = await compareWithGateway(service.deps);
    expect(comparedCount).toBeGreaterThan(4);
    expect(notAskedCount).toBe(1);
    expect(notAsked).toEqual([
      {
        gateway: 'razorpay',
        gatewayPaymentId: await dumb.paymentId(),
        orderNumber: dumb.orderNumber,
        reason: expect.stringContaining('the gateway is unavailable'),
      },
    ]);
    const { code, stdout } = await cliOf(service).run('ledger', 'verify', '--gateway');
    expect(code).toBe(1);
    expect(stdout).toMatch(/Gateway not asked count +1/);
  });
});

test('the daily comparison alerts about a payment that differs, until it agrees again', async ({
  service,
  orders,
}) => {
  const alertsAbout = (paymentId: string) =>
    service.sql<{ isOpen: boolean }[]>`
      SELECT cleared_at IS NULL AS is_open FROM alerts
      WHERE kind = 'gateway_differs' AND subject = ${`razorpay:${paymentId}`}`;
  const compare = (workflowId: string) =>
    service.temporal.client.workflow.execute(COMPARE_GATEWAY_WORKFLOW, {
      workflowId,
      taskQueue: TASK_QUEUE,
    });
  const [sound, reversed] = [await orders.in('PAID'), await orders.in('DELIVERED')];
  await reconcilePayments(service.deps);
  const paymentId = await reversed.paymentId();
  await simulator(service, 'POST', `/payments/${paymentId}/refund`, { amountPaise: 100 });
  await compare('compare-with-gateway-1');
  expect(await alertsAbout(paymentId)).toEqual([{ isOpen: true }]);
  await recordRefundsOf(service.deps, SANDBOX, paymentId);
  await compare('compare-with-gateway-2');
  expect(await alertsAbout(paymentId)).toEqual([{ isOpen: false }]);
  expect(await alertsAbout(await sound.paymentId())).toEqual([]);
});

test('the daily comparison alerts about a transfer to another account, until it is reversed', async ({
  service,
  orders,
}) => {
  const order = await orders.in('PAID');
  const paymentId = await order.paymentId();
  const isOpen = async () => {
    const [alert] = await service.sql<{ isOpen: boolean }[]>`
      SELECT cleared_at IS NULL AS is_open FROM alerts
      WHERE kind = 'transfer_recipient_differs' AND subject = ${`razorpay:${paymentId}`}`;
    return alert?.isOpen;
  };
  const { reverse } = await transferElsewhere(service, paymentId);
  await reconcilePayments(service.deps);
  expect((await alertOnDifferences(service.deps)).differing).toBeGreaterThan(0);
  expect(await isOpen()).toBe(true);
  await reverse();
  await alertOnDifferences(service.deps);
  expect(await isOpen()).toBe(false);
});
