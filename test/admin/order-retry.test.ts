import { ApplicationFailure } from '@temporalio/common';
import { describe, expect } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { refundWorkflowId } from '../../src/contracts/ids.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { GatewayCall, RetriedCall } from '../../src/payments/gateway/gateway-calls.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import { adminCli } from '../support/admin-cli.ts';
import {
  atRazorpay,
  CLOSING,
  madeAtGateway,
  payAtGateway,
  sessionOf,
  setSwitches,
} from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DAY_SECONDS = 24 * 3600;
const HOUR_MS = 3_600_000;

/** An activity whose failed attempts are all followed by an hour's wait, as a refusal of the gateway is. */
const waitingLong =
  <Input extends unknown[], Output>(activity: (...input: Input) => Promise<Output>) =>
  async (...input: Input): Promise<Output> => {
    try {
      return await activity(...input);
    } catch (error) {
      const { message } = error as Error;
      throw ApplicationFailure.create({ message, nextRetryDelay: HOUR_MS });
    }
  };

let beforeRefund = async (): Promise<void> => {};

/** Holds the next refund, once it has begun, until it is released. */
function holdRefunds() {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  beforeRefund = async () => {
    begun.resolve();
    await released.promise;
  };
  return { begun: begun.promise, release: () => released.resolve() };
}

const test = serviceTest({
  time: 'real',
  merchant: { webhooks: false },
  worker: {
    activities(service) {
      const { releaseFunds, closePaymentSession, refundPayment } = createActivities(service.deps);
      return {
        async refundPayment(input) {
          await beforeRefund();
          return refundPayment(input);
        },
        releaseFunds: waitingLong(releaseFunds),
        closePaymentSession: waitingLong(closePaymentSession),
      };
    },
  },
});

type Shown = { status: string; doing: string | null; gatewayCalls: GatewayCall[] };
type Retried = { orderNumber: string; calls: RetriedCall[] };

const show = (cli: AdminCli, { order_number }: Order) =>
  cli.json<Shown>('order', 'show', '--order', order_number);
const retry = ({ order_number }: Order, reason = 'The bank has answered') => {
  const command = ['order', 'retry', '--order', order_number];
  return [...command, '--reason', reason];
};
const audit = (service: TestService, { order_number }: Order) => service.sql<
  { action: string; details: unknown }[]
>`
  SELECT action, details FROM audit_log WHERE subject = ${order_number} ORDER BY audit_id`;

async function paidOrder(service: TestService, merchant: Merchant) {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const [row] = await service.sql<{ id: string }[]>`
    SELECT gateway_payment_id AS id FROM orders WHERE order_number = ${order.order_number}`;
  return { order, gatewayPaymentId: row?.id ?? '' };
}

/** Makes the gateway refuse refunds permanently. @returns how to end that */
async function refuseRefunds(service: TestService, subject: string) {
  await setSwitches(service, subject, { refundsRefused: true });
  return () => setSwitches(service, subject, { refundsRefused: null });
}

/** Waits until the call waits for an attempt that is too far away for a test. */
async function untilWaiting(service: TestService, workflowId: string): Promise<void> {
  const handle = service.temporal.client.workflow.getHandle(workflowId);
  await until(async () => {
    const { raw } = await handle.describe();
    const next = raw.pendingActivities?.[0]?.nextAttemptScheduleTime;
    return Number(next?.seconds ?? 0) * 1000 - Date.now() > HOUR_MS / 2;
  });
}

/** An order whose refund the gateway has refused: its next attempt is an hour away. */
async function refusedRefund(service: TestService, merchant: Merchant) {
  const { order, gatewayPaymentId } = await paidOrder(service, merchant);
  const lift = await refuseRefunds(service, gatewayPaymentId);
  await merchant.sandbox.help(order, 'dispute', { reason: 'It never arrived at my door' });
  await merchant.sandbox.post(`/orders/${order.order_number}/dispute/accept`);
  await untilWaiting(service, order.order_number);
  return { order, gatewayPaymentId, lift };
}

describe('a stuck gateway call is retried now', () => {
  test('a refund: show names it, its error and its next attempt; after the retry it is made', async ({
    service,
    merchant,
    cli,
  }) => {
    const { order, gatewayPaymentId, lift } = await refusedRefund(service, merchant);
    const before = await show(cli, order);
    expect(before.doing).toBe('refunding');
    expect(before.gatewayCalls).toMatchObject([
      {
        workflowId: order.order_number,
        what: 'refund of the buyer',
        state: 'waiting',
        attempt: 2,
        lastError: expect.stringContaining('more than 6 months old'),
      },
    ]);
    const [{ attempt } = { attempt: 0 }] = before.gatewayCalls;
    await lift();
    expect(await cli.json<Retried>(...retry(order))).toMatchObject({
      orderNumber: order.order_number,
      calls: [{ what: 'refund of the buyer', result: { outcome: 'done' } }],
    });
    await merchant.sandbox.untilStatus(order, 'REFUNDED');
    expect(await madeAtGateway(service, gatewayPaymentId, 'refunds')).toHaveLength(1);
    expect((await audit(service, order)).filter(({ action }) => action === 'order.retry')).toEqual([
      {
        action: 'order.retry',
        details: {
          reason: 'The bank has answered',
          calls: [
            {
              workflowId: order.order_number,
              activityType: 'refundPayment',
              attempt,
              lastError: expect.stringContaining('more than 6 months old'),
            },
          ],
        },
      },
    ]);
    expect((await show(cli, order)).gatewayCalls).toEqual([]);
  });

  test('a call that the gateway refuses again exits with 1 and waits for its next attempt', async ({
    service,
    merchant,
    cli,
  }) => {
    const { order, lift } = await refusedRefund(service, merchant);
    const { code, stdout, stderr } = await cli.run(...retry(order));
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(/^The refund of the buyer: failed again, next try 20\d\d-\d\d-\d\d /);
    expect(stdout).toContain('more than 6 months old');
    expect((await show(cli, order)).gatewayCalls).toMatchObject([{ state: 'waiting' }]);
    await lift();
    await cli.json(...retry(order));
    await merchant.sandbox.untilStatus(order, 'REFUNDED');
  });

  test('a release', async ({ service, merchant, gateway, cli }) => {
    const { order, gatewayPaymentId } = await paidOrder(service, merchant);
    await merchant.sandbox.post(`/orders/${order.order_number}/deliver`);
    const { endFault } = await gateway.addFault({
      kind: 'error',
      path: '/v1/payments/*/transfers',
    });
    await merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS });
    await untilWaiting(service, order.order_number);
    await endFault();
    const { calls } = await cli.json<Retried>(...retry(order));
    expect(calls).toMatchObject([{ activityType: 'releaseFunds', result: { outcome: 'done' } }]);
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
    expect(await madeAtGateway(service, gatewayPaymentId, 'transfers')).toMatchObject([
      { on_hold: false },
    ]);
  });

  test('the closing of a payment session, before an expired order is cancelled', async ({
    service,
    merchant,
    gateway,
    cli,
  }) => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
    const { endFault } = await gateway.addFault({ kind: 'error', path: CLOSING });
    await merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS });
    await untilWaiting(service, order.order_number);
    await endFault();
    expect(await cli.json<Retried>(...retry(order))).toMatchObject({
      calls: [{ what: 'closing of the payment session', result: { outcome: 'done' } }],
    });
    await merchant.sandbox.untilStatus(order, 'CANCELLED');
  });

  test('the refund of a payment the order could not take', async ({ service, merchant, cli }) => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
    const { gatewaySessionId: sessionId } = await sessionOf(service, order);
    await payAtGateway(service, sessionId);
    await merchant.sandbox.untilStatus(order, 'PAID');
    const lift = await refuseRefunds(service, 'all');
    const surplusId = await payAtGateway(service, sessionId, { late: true });
    const workflowId = refundWorkflowId(atRazorpay(surplusId));
    const refund = service.temporal.client.workflow.getHandle(workflowId);
    await until(async () => (await refund.describe().catch(() => undefined)) !== undefined);
    await untilWaiting(service, workflowId);
    expect(await show(cli, order)).toMatchObject({
      status: 'PAID',
      doing: null,
      gatewayCalls: [{ workflowId, state: 'waiting' }],
    });
    await lift();
    expect(await cli.json<Retried>(...retry(order))).toMatchObject({
      calls: [{ workflowId, result: { outcome: 'done' } }],
    });
    expect(await madeAtGateway(service, surplusId, 'refunds')).toHaveLength(1);
    expect((await merchant.sandbox.read(order)).status).toBe('PAID');
  });
});

describe('a retry is refused in one line and leaves no audit row', () => {
  test('if no call waits, if the order does not exist, and without a reason', async ({
    service,
    merchant,
    cli,
  }) => {
    const { order } = await paidOrder(service, merchant);
    expect(await cli.refusal(...retry(order))).toBe(
      `Nothing to retry: order ${order.order_number} waits for no call to the gateway`,
    );
    expect(await cli.refusal('order', 'retry', '--order', 'ORDX', '--reason', 'R')).toBe(
      'Order not found: ORDX',
    );
    expect(await cli.refusal(...retry(order, ' '))).toBe(
      'The reason must be 1 to 1000 characters and not blank',
    );
    expect(await cli.misuse('order', 'retry', '--order', order.order_number)).toContain(
      '--reason TEXT is missing',
    );
    expect(await audit(service, order)).toEqual([]);
  });

  test('while the call is running', async ({ service, merchant, cli }) => {
    const { order } = await paidOrder(service, merchant);
    const refund = holdRefunds();
    await merchant.sandbox.help(order, 'dispute', { reason: 'It never arrived at my door' });
    await merchant.sandbox.post(`/orders/${order.order_number}/dispute/accept`);
    await refund.begun;
    expect(await cli.refusal(...retry(order))).toBe(
      'Nothing to retry: the refund of the buyer is being tried right now',
    );
    refund.release();
    await merchant.sandbox.untilStatus(order, 'REFUNDED');
  });

  test('if Temporal does not respond; show then shows the rest', async ({ service, merchant }) => {
    const { order } = await paidOrder(service, merchant);
    const away = adminCli({ ...service.env, TEMPORAL_ADDRESS: '127.0.0.1:1' });
    const command = ['order', 'show', '--order', order.order_number];
    const [refusal, { code, stdout }] = await Promise.all([
      away.refusal(...retry(order)),
      away.run(...command),
    ]);
    expect(refusal).toContain('Temporal cannot be reached');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Status +PAID$/m);
    expect(stdout).toContain('Temporal cannot be read');
  });
});
