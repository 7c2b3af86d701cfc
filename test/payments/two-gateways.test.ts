import { expect } from 'vitest';
import { refundWorkflowId } from '../../src/contracts/ids.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { compareWithGateway } from '../../src/payments/reconcile/compare-gateway.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import {
  alerts,
  ledgerOf,
  madeAtGateway,
  orderBeingPaid,
  reconcileLater,
} from '../support/gateway.ts';
import { otherpay } from '../support/otherpay/adapter.ts';
import { signCallback, startOtherpay } from '../support/otherpay/server.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const AMOUNT_PAISE = 49_950;
const DAY_SECONDS = 86_400;
const KEYS = { token: 'otherpay-token', callbackKey: 'otherpay-callback-key' };
const HOOK = '/hooks/otherpay/sandbox';
/** The ids of the second gateway. */
const UUID = /^[0-9A-F]{8}-[0-9A-F-]{27}$/;

const other = await startOtherpay(KEYS);

/** The merchant uses the second gateway; `besideIt` uses Razorpay, in the same service. */
const test = serviceTest({
  time: 'real',
  moreAdapters: [otherpay],
  settings: {
    SANDBOX_OTHERPAY_BASE_URL: other.url,
    SANDBOX_OTHERPAY_TOKEN: KEYS.token,
    SANDBOX_OTHERPAY_CALLBACK_KEY: KEYS.callbackKey,
  },
  merchant: { webhooks: false, gateway: 'otherpay' },
}).extend('besideIt', { scope: 'file' }, ({ service }) => service.newMerchant({ webhooks: false }));

test.beforeEach(({ service }) => other.callBackTo(`${service.origin}${HOOK}`));
test.afterAll(() => other.stop());

const paymentIdsOf = async ({ sql }: TestService, id: string) =>
  (
    await sql<{ gateway: string }[]>`
      SELECT gateway FROM payments WHERE gateway_payment_id = ${id} ORDER BY gateway`
  ).map(({ gateway }) => gateway);

test('an order is paid by a callback, and released to the linked account, at its own gateway', async ({
  service,
  merchant,
}) => {
  const { order, gatewaySessionId } = await orderBeingPaid(service, merchant);
  expect(gatewaySessionId).toMatch(UUID);
  const charge = await other.pay(gatewaySessionId);
  await merchant.sandbox.untilStatus(order, 'PAID');
  expect((await merchant.sandbox.read(order)).payment?.gateway_payment_id).toBe(charge.id);
  await reconcileLater(service);
  const [account] = [...other.accounts.values()];
  const payout = { charge: charge.id, account: account?.id, paise: AMOUNT_PAISE };
  expect(other.payouts).toMatchObject([{ ...payout, held: true }]);
  await merchant.sandbox.post(`/orders/${order.order_number}/deliver`);
  await merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS });
  await merchant.sandbox.untilStatus(order, 'COMPLETED');
  expect(other.payouts).toMatchObject([{ ...payout, held: false }]);
  expect(await ledgerOf(service, order.order_number)).toMatchObject({
    lines: [
      `capture: gateway_clearing → merchant_held ${AMOUNT_PAISE}`,
      `release: merchant_held → merchant_available ${AMOUNT_PAISE}`,
    ],
    sum: 0,
  });
});

test('an order is refunded at its own gateway', async ({ service, merchant }) => {
  const { order, gatewaySessionId } = await orderBeingPaid(service, merchant);
  const charge = await other.pay(gatewaySessionId);
  await merchant.sandbox.untilStatus(order, 'PAID');
  await merchant.sandbox.post(`/orders/${order.order_number}/refund`, { reason: 'Sold out' });
  await merchant.sandbox.untilStatus(order, 'REFUNDED');
  const refunds = other.refunds.filter((refund) => refund.charge === charge.id);
  expect(refunds).toMatchObject([{ paise: AMOUNT_PAISE }]);
});

test('a second payment is refunded at its own gateway', async ({ service, merchant }) => {
  const { order, gatewaySessionId } = await orderBeingPaid(service, merchant);
  const first = await other.pay(gatewaySessionId);
  await merchant.sandbox.untilStatus(order, 'PAID');
  const second = await other.pay(gatewaySessionId, { late: true });
  const workflowId = refundWorkflowId({ gateway: 'otherpay', gatewayPaymentId: second.id });
  expect(workflowId).toBe(`refund-otherpay-${second.id}`);
  const { workflow } = service.temporal.client;
  await until(() =>
    workflow
      .getHandle(workflowId)
      .describe()
      .catch(() => null),
  );
  await workflow.getHandle(workflowId).result();
  expect(other.refunds.filter(({ charge }) => charge === second.id)).toHaveLength(1);
  expect(other.refunds.filter(({ charge }) => charge === first.id)).toEqual([]);
  const subject = `otherpay:${second.id}`;
  expect(alerts(service, 'surplus_capture', second.id)).toMatchObject([{ subject }]);
});

test.for([
  ['no signature', () => ({})],
  ['a wrong key', (body: string) => signedBy('another-key', body)],
  ['a signature of another body', () => signedBy(KEYS.callbackKey, '{}')],
  ["Razorpay's header", (body: string) => ({ 'x-razorpay-signature': macOf(body) })],
] as const)(
  'a callback with %s is refused and changes nothing',
  async ([_what, headersOf], { service, merchant }) => {
    const { order, gatewaySessionId } = await orderBeingPaid(service, merchant);
    other.callBackTo(null);
    const charge = await other.pay(gatewaySessionId);
    const body = JSON.stringify({ id: 'EVENT', type: 'charge.paid', charge });
    const headers = { 'content-type': 'application/json', ...headersOf(body) };
    const answer = await fetch(`${service.origin}${HOOK}`, { method: 'POST', headers, body });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Signature header="Otherpay-Signature"');
    expect((await merchant.sandbox.read(order)).status).toBe('ACCEPTED');
    expect(await paymentIdsOf(service, charge.id)).toEqual([]);
    const stored = await service.sql`
      SELECT FROM gateway_callbacks WHERE strpos(body, ${charge.id}) > 0`;
    expect(stored).toHaveLength(0);
  },
);

const signedBy = (key: string, body: string) => ({
  'otherpay-signature': signCallback(key, body, Date.now()),
});
const macOf = (body: string) => signCallback(KEYS.callbackKey, body, 0);

test('a callback at the path of another gateway is refused', async ({ service }) => {
  const body = '{}';
  const headers = { 'content-type': 'application/json', ...signedBy(KEYS.callbackKey, body) };
  const url = `${service.origin}/callbacks/razorpay/sandbox`;
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(401);
});

test('reconciliation finds a payment whose callback was lost', async ({ service, merchant }) => {
  const { order, gatewaySessionId } = await orderBeingPaid(service, merchant);
  other.callBackTo(null);
  await other.pay(gatewaySessionId);
  expect((await merchant.sandbox.read(order)).status).toBe('ACCEPTED');
  await reconcileLater(service);
  await merchant.sandbox.untilStatus(order, 'PAID');
});

test('one payment id at both gateways is two payments, each with its own order and money', async ({
  service,
  merchant,
  besideIt,
}) => {
  const atRazorpay = await orderBeingPaid(service, besideIt);
  const id = await atRazorpay.pay();
  await besideIt.sandbox.untilStatus(atRazorpay.order, 'PAID');
  const atOther = await orderBeingPaid(service, merchant);
  await other.pay(atOther.gatewaySessionId, { id });
  await merchant.sandbox.untilStatus(atOther.order, 'PAID');
  expect(await paymentIdsOf(service, id)).toEqual(['otherpay', 'razorpay']);

  const { order_number: refunded } = atOther.order;
  await merchant.sandbox.post(`/orders/${refunded}/refund`, { reason: 'Sold out' });
  await merchant.sandbox.untilStatus(atOther.order, 'REFUNDED');
  expect(other.refunds.filter(({ charge }) => charge === id)).toHaveLength(1);
  expect(await madeAtGateway(service, id, 'refunds')).toEqual([]);

  const { order_number: released } = atRazorpay.order;
  await besideIt.sandbox.post(`/orders/${released}/deliver`);
  await besideIt.sandbox.help(atRazorpay.order, 'advance', { seconds: DAY_SECONDS });
  await besideIt.sandbox.untilStatus(atRazorpay.order, 'COMPLETED');
  expect(await madeAtGateway(service, id, 'transfers')).toMatchObject([
    { amount: AMOUNT_PAISE, on_hold: false },
  ]);
  expect((await ledgerOf(service, refunded)).balances).toMatchObject({ refunds: AMOUNT_PAISE });
  expect((await ledgerOf(service, released)).balances).toMatchObject({
    merchant_available: AMOUNT_PAISE,
  });
});

test('surplus payments with one id at both gateways are refunded at each of them', async ({
  service,
  merchant,
  besideIt,
}) => {
  const atRazorpay = await orderBeingPaid(service, besideIt);
  expect((await besideIt.sandbox.cancel(atRazorpay.order)).status).toBe(200);
  const id = await atRazorpay.pay({ late: true });
  const atOther = await orderBeingPaid(service, merchant);
  expect((await merchant.sandbox.cancel(atOther.order)).status).toBe(200);
  await other.pay(atOther.gatewaySessionId, { id, late: true });
  const isRefunded = async () =>
    (await merchant.sandbox.read(atOther.order)).refund?.processed_at &&
    (await besideIt.sandbox.read(atRazorpay.order)).refund?.processed_at;
  await until(isRefunded);
  expect(other.refunds.filter(({ charge }) => charge === id)).toHaveLength(1);
  expect(await madeAtGateway(service, id, 'refunds')).toHaveLength(1);
});

test('a payment that names an order of another gateway does not pay it', async ({
  service,
  besideIt,
}) => {
  const order = await besideIt.sandbox.create();
  const at = { gateway: 'otherpay', environment: 'sandbox' } as const;
  const { gatewaySessionId } = await service.deps.gateways.forOrder(at).openSession({
    orderNumber: order.order_number,
    sessionId: 'ps_elsewhere',
    amountPaise: AMOUNT_PAISE,
    expiresAtMs: Date.now() + 900_000,
    description: 'A test',
  });
  const { id } = await other.pay(gatewaySessionId);
  expect(await paymentIdsOf(service, id)).toEqual([]);
  expect((await besideIt.sandbox.read(order)).status).toBe('ACCEPTED');
  expect(alerts(service, 'payment_without_order', id)).toMatchObject([
    { subject: `otherpay:${id}` },
  ]);
});

test('the sandbox helper pays at the gateway of the order', async ({ merchant }) => {
  const order = await merchant.sandbox.create();
  const { body } = await merchant.sandbox.help(order, 'pay');
  expect(body.data).toMatchObject({ status: 'PAID' });
  expect(body.data.payment?.gateway_payment_id).toMatch(UUID);
});

test('an order keeps its gateway when its merchant gets another one', async ({ service }) => {
  const moving = await service.newMerchant({ webhooks: false, gateway: 'otherpay' });
  const before = await moving.sandbox.create();
  const admin = { sql: service.sql, actor: TEST_ACTOR };
  await changeMerchantStatus(admin, moving.merchantId, 'approve', { gateway: 'razorpay' });
  const after = await moving.sandbox.create();
  const gatewayOf = async ({ order_number }: { order_number: string }) => {
    const [row] = await service.sql`
      SELECT gateway FROM orders WHERE order_number = ${order_number}`;
    return row?.['gateway'];
  };
  expect([await gatewayOf(before), await gatewayOf(after)]).toEqual(['otherpay', 'razorpay']);
  const paid = await moving.sandbox.help(before, 'pay');
  expect(paid.body.data.payment?.gateway_payment_id).toMatch(UUID);
  await moving.sandbox.post(`/orders/${before.order_number}/refund`, { reason: 'Sold out' });
  await moving.sandbox.untilStatus(before, 'REFUNDED');
});

test('the ledger adds up, and agrees with both gateways', async ({ service }) => {
  await reconcileLater(service);
  expect(await verifyLedger(service.sql)).toMatchObject({ ok: true, faults: [] });
  const comparison = await compareWithGateway(service.deps);
  expect(comparison).toMatchObject({ faults: [], notAsked: [], movingCount: 0 });
  const gateways = await service.sql<{ gateway: string }[]>`
    SELECT DISTINCT gateway FROM payments WHERE is_whole ORDER BY gateway`;
  expect(gateways.map(({ gateway }) => gateway)).toEqual(['otherpay', 'razorpay']);
});
