import { findOrderByNumber } from '../orders/public.ts';
import type { CaptureDeps } from './captures.ts';
import type { PaymentRef } from '../contracts/ids.ts';
import * as queries from './queries.ts';

/**
 * Fetches a capture that a restored database may have lost, and records it again as it was when its
 * order took it, without later refunds.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recoverCapture(
  deps: CaptureDeps,
  orderNumber: string,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<void> {
  const { environment } = await findOrderByNumber(deps.sql, orderNumber);
  const at = { gateway, environment };
  const port = deps.gateways.forOrder(at);
  const [payment, atGateway] = await Promise.all([
    port.fetchPayment(gatewayPaymentId),
    port.findSessionOfPayment(gatewayPaymentId),
  ]);
  const session =
    atGateway && (await queries.findSessionAtGateway(deps.sql, at, atGateway.gatewaySessionId));
  await queries.writeCapture(deps.sql, {
    orderNumber,
    sessionId: session?.sessionId ?? payment.sessionId,
    ...at,
    payment: { ...payment, status: 'captured', refundedPaise: 0 },
  });
}
