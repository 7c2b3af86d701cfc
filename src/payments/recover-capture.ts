import { findOrderByNumber } from '../orders/queries.ts';
import type { CaptureDeps } from './captures.ts';
import { notePayment } from './captures.ts';
import type { Gateways } from './gateways.ts';
import { gatewayOf } from './gateways.ts';

export type RecoverCaptureDeps = CaptureDeps & { gateways: Gateways };

/**
 * Asks the gateway for a capture that a restored database may have lost, and writes it down again.
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
  const [payment, session] = await Promise.all([
    gateway.fetchPayment(gatewayPaymentId),
    gateway.findSessionOfPayment(gatewayPaymentId),
  ]);
  const known = { ...payment, orderNumber };
  await notePayment(deps, environment, known, session?.gatewaySessionId ?? null);
}
