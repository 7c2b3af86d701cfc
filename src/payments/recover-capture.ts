import { findOrderByNumber } from '../orders/public.ts';
import type { CaptureDeps } from './captures.ts';
import type { Gateways } from './gateways.ts';
import { gatewayOf } from './gateways.ts';
import * as queries from './queries.ts';

export type RecoverCaptureDeps = CaptureDeps & { gateways: Gateways };

/**
 * Asks the gateway for a capture that a restored database may have lost, and writes it down again as
 * it was when its order took it, whatever has been refunded of it since.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recoverCapture(
  deps: RecoverCaptureDeps,
  orderNumber: string,
  gatewayPaymentId: string,
): Promise<void> {
  const { environment } = await findOrderByNumber(deps.sql, orderNumber);
  const gateway = gatewayOf(deps.gateways, environment);
  const [payment, atGateway] = await Promise.all([
    gateway.fetchPayment(gatewayPaymentId),
    gateway.findSessionOfPayment(gatewayPaymentId),
  ]);
  const session =
    atGateway &&
    (await queries.findSessionAtGateway(deps.sql, environment, atGateway.gatewaySessionId));
  await queries.writeCapture(deps.sql, {
    orderNumber,
    sessionId: session?.sessionId ?? payment.sessionId,
    environment,
    payment: { ...payment, status: 'captured', refundedPaise: 0 },
  });
}
