import { expect } from 'vitest';
import { refundWorkflowId } from '../../../src/contracts/ids.ts';
import { compareWithGateway } from '../../../src/payments/reconcile/compare-gateway.ts';
import { settleOutside } from '../../../src/payments/settlement/settle-outside.ts';
import type { Gateway } from '../../support/gateway.ts';
import {
  atRazorpay,
  ledgerOf,
  madeAtGateway,
  payAtGateway,
  reconcileLater,
  sessionOf,
} from '../../support/gateway.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { whenMoneyIsFree } from '../../support/when-money-is-free.ts';

const test = serviceTest({ time: 'real', callbacks: false });

/** A PAID order with a second capture that the gateway refuses to refund. */
async function stuckSurplus(service: TestService, gateway: Gateway) {
  const merchant = await service.newMerchant({ webhooks: false });
  const order = await merchant.sandbox.create();
  await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
  const { gatewaySessionId: sessionId } = await sessionOf(service, order);
  await payAtGateway(service, sessionId);
  const surplusId = await payAtGateway(service, sessionId, { late: true });
  const { endFault } = await gateway.addFault({ kind: 'error', path: '/v1/payments/*/refund' });
  await reconcileLater(service);
  const refund = service.temporal.client.workflow.getHandle(
    refundWorkflowId(atRazorpay(surplusId)),
  );
  const { sql } = service;
  const claims = () => sql`SELECT FROM surplus_refunds WHERE gateway_payment_id = ${surplusId}`;
  await until(async () => (await claims()).length === 1);
  return { order, surplusId, refund, endFault };
}

test('a surplus capture that the gateway refuses to refund does not affect its order or its workflow', async ({
  service,
  gateway,
}) => {
  const { order, surplusId, refund, endFault } = await stuckSurplus(service, gateway);
  const handle = service.temporal.client.workflow.getHandle(order.order_number);
  await reconcileLater(service);
  await until(async () => !(await handle.describe()).raw.pendingWorkflowTask);
  const { historyLength } = await handle.describe();
  const { historyLength: ofRefund } = await refund.describe();
  for (let more = 0; more < 3; more += 1) await reconcileLater(service);
  expect((await handle.describe()).historyLength).toBe(historyLength);
  // The refund's workflow, which retries by itself, is left alone, too.
  expect((await refund.describe()).historyLength).toBe(ofRefund);
  await endFault();
  await until(async () => (await madeAtGateway(service, surplusId, 'refunds')).length === 1);
});

test('a surplus refund that an operator made outside is booked, and the gateway is not asked again', async ({
  service,
  gateway,
}) => {
  const { order, surplusId, refund, endFault } = await stuckSurplus(service, gateway);
  const { sql, deps } = service;
  const settlement = { orderNumber: order.order_number, reference: 'UTR 4711', reason: 'Refused' };
  const by = { ...deps, actor: { name: 'operator', address: null } };
  await until(async () => (await ledgerOf(service, order.order_number)).lines.length === 2);
  const settle = () => settleOutside(by, { ...settlement, surplus: [surplusId] });
  expect(await whenMoneyIsFree(sql, settle)).toMatchObject({ order: { status: 'PAID' } });
  // Before the fault ends: an attempt that is under way at the gateway during the settlement fails.
  await refund.result();
  await endFault();
  expect(await madeAtGateway(service, surplusId, 'refunds')).toEqual([]);
  const { balances } = await ledgerOf(service, order.order_number);
  expect(balances).not.toHaveProperty('surplus');
  expect(balances).toMatchObject({ refunds: order.amount * 100 });
  const audit =
    await sql`SELECT action, details FROM audit_log WHERE subject = ${`razorpay:${surplusId}`}`;
  expect(audit).toEqual([
    { action: 'surplus.settle', details: { ...settlement, outcome: 'refunded' } },
  ]);
  await expect(settleOutside(by, settlement)).rejects.toThrow('Cannot settle');
  await settle();

  const other = await stuckSurplus(service, gateway);
  const asked = {
    ...settlement,
    orderNumber: other.order.order_number,
    surplus: [other.surplusId],
  };
  const settleOther = (reference: string) =>
    whenMoneyIsFree(sql, () => settleOutside(by, { ...asked, reference }));
  await expect(settleOther('UTR 4711')).rejects.toThrow(
    'Another order is settled with the reference UTR 4711',
  );
  await settleOther('UTR 4712');
  await other.refund.result();
  await other.endFault();
  const { faults } = await compareWithGateway(service.deps);
  expect(faults.filter(({ gatewayPaymentId }) => gatewayPaymentId === surplusId)).toEqual([]);
});
