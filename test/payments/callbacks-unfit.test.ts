import { describe, expect } from 'vitest';
import type { Environment } from '../../src/domain/index.ts';
import {
  alerts,
  ledgerOf,
  madeAtGateway,
  payAtGateway,
  SANDBOX,
  simulator,
} from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { callbackTest } from './callback-kit.ts';

const test = callbackTest();

describe('a callback', () => {
  test('about an unknown order is stored, gets 200 and raises an alert', async ({
    service,
    kit,
  }) => {
    const gateway = service.deps.gateways.forOrder(SANDBOX);
    const { gatewaySessionId } = await gateway.openSession({
      orderNumber: 'ORD00000000000000000000000000',
      sessionId: 'ps_unknown',
      amountPaise: 49_950,
      expiresAtMs: Date.now() + 900_000,
      description: 'An order of nobody',
    });
    await kit.hold();
    const paymentId = await payAtGateway(service, gatewaySessionId);
    const [body = ''] = await kit.bodiesAbout(paymentId);
    expect((await kit.callBack(body)).status).toBe(200);
    expect(await kit.stored(paymentId)).toBe(1);
    await until(() => alerts(service, 'payment_without_order', paymentId).length === 1);
    expect(
      await service.sql`SELECT 1 FROM payments WHERE gateway_payment_id = ${paymentId}`,
    ).toHaveLength(0);
    expect(await service.sql`SELECT FROM gateway_callbacks WHERE is_unconfirmed`).toEqual([]);
  });
});

describe('a capture of another amount than the order', () => {
  test.for([
    ['less', 49_900],
    ['more', 50_000],
  ] as const)(
    '(%s) does not make it PAID, is refunded in full, and raises an alert',
    async ([_word, amountPaise], { service, merchant, kit }) => {
      const { order, gatewaySessionId } = await kit.anOrderBeingPaid();
      const paymentId = await payAtGateway(service, gatewaySessionId, { amountPaise });
      const refund = service.temporal.client.workflow.getHandle(`refund-razorpay-${paymentId}`);
      await until(() =>
        refund.describe().then(
          ({ status }) => status.name === 'COMPLETED',
          () => false,
        ),
      );
      expect(await madeAtGateway(service, paymentId, 'refunds')).toMatchObject([
        { amount: amountPaise, status: 'processed' },
      ]);
      expect(alerts(service, 'wrong_amount', paymentId)).not.toEqual([]);
      expect(await ledgerOf(service, order.order_number)).toMatchObject({
        lines: [
          `capture: gateway_clearing → surplus ${amountPaise}`,
          `refund: surplus → refunds ${amountPaise}`,
        ],
        sum: 0,
      });
      expect((await kit.read(order)).status).toBe('ACCEPTED');
      // The buyer can still pay the right amount.
      const paid = await merchant.sandbox.help(order, 'pay');
      expect(paid.body.data.status).toBe('PAID');
    },
  );
});

describe("each environment's callbacks touch only its own orders", () => {
  test('a production order is paid only by production’s gateway', async ({ service, kit }) => {
    const { order, gatewaySessionId } = await kit.anOrderBeingPaid('production');
    await expect(payAtGateway(service, gatewaySessionId)).rejects.toThrow('does not exist');
    await payAtGateway(service, gatewaySessionId, {}, 'production');
    await kit.untilStatus(order, 'PAID', 'production');
  });

  test.for<[Environment, Environment]>([
    ['sandbox', 'production'],
    ['production', 'sandbox'],
  ])(
    'a payment at the gateway of %s that names an order of %s changes nothing',
    async ([own, other], { service, merchant, kit }) => {
      const order = await merchant[other].create();
      const at = { gateway: 'razorpay', environment: own };
      const opened = await service.deps.gateways.forOrder(at).openSession({
        orderNumber: order.order_number,
        sessionId: 'ps_of_nobody',
        amountPaise: 49_950,
        expiresAtMs: Date.now() + 900_000,
        description: 'A trick',
      });
      const paymentId = await payAtGateway(service, opened.gatewaySessionId, {}, own);
      await simulator({ config: service.config, environment: own }, 'POST', '/callbacks/idle');
      expect(await kit.stored(paymentId)).toBe(2);
      await until(() => alerts(service, 'payment_without_order', paymentId).length === 2);
      expect((await kit.read(order, other)).status).toBe('ACCEPTED');
      expect(
        await service.sql`SELECT 1 FROM payments WHERE gateway_payment_id = ${paymentId}`,
      ).toHaveLength(0);
    },
  );
});
