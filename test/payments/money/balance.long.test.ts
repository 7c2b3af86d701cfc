import { expect } from 'vitest';
import { reconcilePayments } from '../../../src/payments/reconcile/reconcile.ts';
import {
  madeAtGateway,
  openChargeback,
  payAtGateway,
  sessionOf,
  setSwitches,
  simulator,
} from '../../support/gateway.ts';
import type { Merchant } from '../../support/merchant.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const MINUTE_MS = 60_000;
const DAY_SECONDS = 86_400;

const test = serviceTest({ time: 'skipping', callbacks: false, merchant: { webhooks: false } });

test.beforeEach(async ({ service }) => {
  await setSwitches(service, 'all', { fees: true });
  // The end of a skip sets the database's clock back by what the skip itself took.
  await service.skip(MINUTE_MS);
});

const topUp = (service: TestService, amountPaise: number) =>
  simulator(service, 'POST', '/balance', { amountPaise });

/** A paid order of INR 10,000: its payment costs INR 236.00, and its transfer INR 29.50. */
async function aPaidOrder({ sandbox }: Merchant) {
  const order = await sandbox.create({ amount: 10_000 });
  await sandbox.help(order, 'pay');
  const paymentId = (await sandbox.read(order)).payment?.gateway_payment_id ?? '';
  return { order, paymentId };
}

/** What the open alerts about refusals say. */
const openAlerts = ({ sql }: TestService) => sql`
  SELECT kind, (details->>'refundCount')::integer AS refunds,
    (details->>'transferCount')::integer AS transfers, (details->>'missingPaise')::integer AS missing_paise
  FROM alerts WHERE cleared_at IS NULL AND kind IN ('gateway_balance_low', 'gateway_refused')`;

const low = (refunds: number, transfers: number, missingPaise: number) => [
  { kind: 'gateway_balance_low', refunds, transfers, missingPaise },
];

test('a refund that lacks balance is one alert with the fee that is missing, and goes out within a minute of the top-up', async ({
  service,
  merchant,
}) => {
  const { sandbox } = merchant;
  const { order, paymentId } = await aPaidOrder(merchant);
  await reconcilePayments(service.deps);
  expect(await openAlerts(service)).toMatchObject([{ kind: 'gateway_balance_low', transfers: 1 }]);
  await sandbox.command(order, 'refund', { reason: 'It is sold out' });
  await until(async () => (await openAlerts(service))[0]?.['refunds'] === 1);
  await reconcilePayments(service.deps);
  expect(await openAlerts(service)).toEqual(low(1, 0, 23_600));

  // Not enough: the alert stays.
  await topUp(service, 23_599);
  await service.skip(MINUTE_MS);
  await reconcilePayments(service.deps);
  expect(await openAlerts(service)).toEqual(low(1, 0, 23_600));
  await topUp(service, 1);
  await service.skip(MINUTE_MS);
  await sandbox.untilStatus(order, 'REFUNDED');
  expect(await madeAtGateway(service, paymentId, 'refunds')).toMatchObject([
    { amount: 1_000_000, status: 'processed' },
  ]);
  await reconcilePayments(service.deps);
  expect(await openAlerts(service)).toEqual([]);
});

test('all that waits for the balance is one alert with one sum, and goes out within a minute of the top-up', async ({
  service,
  merchant,
}) => {
  const { sandbox } = merchant;
  const charged = await aPaidOrder(merchant);
  await topUp(service, 23_600 + 2950);
  await until(async () => {
    await reconcilePayments(service.deps);
    const held = await service.sql`SELECT FROM payments
      WHERE gateway_payment_id = ${charged.paymentId} AND held_at IS NOT NULL`;
    return held.length > 0;
  });
  const [released, refunded] = [await aPaidOrder(merchant), await aPaidOrder(merchant)];
  const endChargeback = await openChargeback(service, charged.paymentId);
  await endChargeback('lost');
  await reconcilePayments(service.deps);
  // Of the INR 19,528.00 that the two have brought, the bank has taken 10,000.
  expect(await openAlerts(service)).toEqual(low(0, 2, 2 * 1_002_950 - 952_800));

  await sandbox.help(refunded.order, 'dispute', { reason: 'It never came to me' });
  await sandbox.command(refunded.order, 'dispute/accept');
  await sandbox.command(released.order, 'deliver');
  await sandbox.help(released.order, 'advance', { seconds: DAY_SECONDS });
  await until(async () => (await openAlerts(service))[0]?.['refunds'] === 1);
  await reconcilePayments(service.deps);
  const missingPaise = 1_000_000 + 1_002_950 - 952_800;
  expect(await openAlerts(service)).toEqual(low(1, 1, missingPaise));

  await topUp(service, missingPaise);
  await service.skip(MINUTE_MS);
  await sandbox.untilStatus(refunded.order, 'REFUNDED');
  await sandbox.untilStatus(released.order, 'COMPLETED');
  await reconcilePayments(service.deps);
  expect(await openAlerts(service)).toEqual([]);
});

test('the refund of a second payment of an order waits for the balance in the same way', async ({
  service,
  merchant,
}) => {
  const { order } = await aPaidOrder(merchant);
  const { gatewaySessionId } = await sessionOf(service, order);
  const surplusId = await payAtGateway(service, gatewaySessionId, { late: true });
  // Found when the session is asked for the last time, and refunded once no helper pays it. One of the two goes out.
  await service.skip(2 * 60 * MINUTE_MS);
  await reconcilePayments(service.deps);
  await service.skip(MINUTE_MS);
  await reconcilePayments(service.deps);
  await until(async () => (await openAlerts(service)).length > 0);
  await reconcilePayments(service.deps);
  const missingPaise = 2 * 23_600 + 2950;
  expect(await openAlerts(service)).toMatchObject([{ missingPaise }]);
  await topUp(service, missingPaise);
  await service.skip(MINUTE_MS);
  await reconcilePayments(service.deps);
  await until(async () => {
    const [refund] = await madeAtGateway(service, surplusId, 'refunds');
    return refund?.status === 'processed';
  });
  await until(async () => {
    await reconcilePayments(service.deps);
    return (await openAlerts(service)).length === 0;
  });
});
