import { randomUUID } from 'node:crypto';
import type { OrderRow } from '../../src/orders/rows.ts';
import { writeCapture } from '../../src/payments/queries.ts';
import type { TestService } from './service.ts';

type Paid = Pick<OrderRow, 'order_number' | 'amount_paise'>;

/** Pulls one of the simulator's levers: see `src/gateway-simulator/control-routes.ts`. */
export async function simulator(
  { config }: TestService,
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body: unknown = {},
): Promise<void> {
  const { baseUrl, keyId, keySecret } = config.razorpay.sandbox;
  const response = await fetch(new URL(`/simulator${path}`, baseUrl), {
    method,
    headers: {
      authorization: `Basic ${btoa(`${keyId}:${keySecret}`)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

/** From now on the order hears of a payment only from the test. */
export const withoutCallbacks = (service: TestService) =>
  simulator(service, 'PATCH', '/callbacks', { dropProbability: 1 });

/** A buyer pays at the gateway, and the capture is in our book; the order has not heard of it. */
export async function captureAtGateway(service: TestService, order: Paid): Promise<string> {
  const { order_number: orderNumber, amount_paise: amountPaise } = order;
  const gateway = service.deps.gateways.sandbox;
  if (!gateway) throw new Error('The sandbox has a gateway');
  const { gatewaySessionId } = await gateway.openSession({
    orderNumber,
    sessionId: `ps_${randomUUID()}`,
    amountPaise,
    expiresAtMs: Date.now() + 900_000,
    description: `Order ${orderNumber}`,
  });
  await simulator(service, 'POST', `/qr_codes/${gatewaySessionId}/pay`, {
    vpa: 'success@razorpay',
  });
  const [payment] = await gateway.listSessionPayments(gatewaySessionId);
  const gatewayPaymentId = payment?.gatewayPaymentId ?? '';
  const capture = { gatewayPaymentId, orderNumber, amountPaise, sessionId: null };
  await writeCapture(service.sql, { ...capture, environment: 'sandbox' });
  return gatewayPaymentId;
}
