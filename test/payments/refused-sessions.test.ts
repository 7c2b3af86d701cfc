import { expect } from 'vitest';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import { askGateway, SANDBOX, setSwitches } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test.afterEach(({ service }) =>
  setSwitches(service, 'all', { qrCodesRefused: null, imageContent: null, closeByMinutes: null }),
);

const alertNow = async ({ sql }: TestService) =>
  sql`SELECT count, cleared_at IS NULL AS is_open FROM alerts WHERE kind = 'session_refused'
    ORDER BY alert_id DESC LIMIT 1`;

test('a gateway that refuses every session is one alert, which ends once a session has opened', async ({
  service,
  merchant,
}) => {
  await setSwitches(service, 'all', {
    qrCodesRefused: 'QR Codes are not enabled for the merchant',
  });
  for (const count of [1, 2]) {
    const order = await merchant.sandbox.create();
    expect((await merchant.sandbox.openSession(order)).status).toBe(502);
    expect(await alertNow(service)).toEqual([{ count, isOpen: true }]);
  }
  await reconcilePayments(service.deps);
  expect(await alertNow(service)).toEqual([{ count: 2, isOpen: true }]);
  await setSwitches(service, 'all', { qrCodesRefused: null });
  const order = await merchant.sandbox.create();
  expect((await merchant.sandbox.openSession(order)).status).toBe(201);
  await reconcilePayments(service.deps);
  expect(await alertNow(service)).toEqual([{ count: 2, isOpen: false }]);
});

test('a QR code without its content is closed again, because no buyer can be shown it', async ({
  service,
  merchant,
}) => {
  const listed = async () => {
    const path = '/v1/payments/qr_codes?count=100';
    const { items } = await askGateway<{ items: { status: string }[] }>(service, 'GET', path);
    return items.map(({ status }) => status);
  };
  const before = await listed();
  await setSwitches(service, 'all', { imageContent: false });
  const order = await merchant.sandbox.create();
  expect((await merchant.sandbox.openSession(order)).status).toBe(502);
  expect(await listed()).toEqual(['closed', ...before]);
});

test('a gateway that wants QR codes to stay open for fifteen minutes gets sixteen', async ({
  service,
}) => {
  await setSwitches(service, 'all', { closeByMinutes: 15 });
  const beganAtMs = Date.now();
  const { gatewaySessionId } = await service.deps.gateways.forOrder(SANDBOX).openSession({
    orderNumber: 'ORD01SHORT',
    sessionId: 'ps_short',
    amountPaise: 10_000,
    expiresAtMs: beganAtMs + 5 * 60_000,
    description: 'Order ORD01SHORT',
  });
  const path = `/v1/payments/qr_codes/${gatewaySessionId}`;
  const { close_by: closeBy } = await askGateway<{ close_by: number }>(service, 'GET', path);
  expect(closeBy * 1000).toBeGreaterThan(beganAtMs + 15 * 60_000);
});
