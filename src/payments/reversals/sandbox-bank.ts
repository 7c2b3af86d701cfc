import { databaseTime } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { errorOf } from '../../http/responses/errors.ts';
import type { OrderRow } from '../../orders/public.ts';
import { recordSessionPayments } from '../captures/captures.ts';
import { GatewayRefused, GatewayUnavailable } from '../gateway/gateway.ts';
import { findLatestSession } from '../sessions/session-queries.ts';
import type { SessionDeps } from '../sessions/sessions.ts';
import { recordReversal, refundAgainIfBooked } from './reversals.ts';

/**
 * The test helpers that act as the buyer's bank on a payment of a sandbox order. They act at the gateway itself, so
 * that the service sees what it would see in production. Each also records the result, because the callback may come
 * later.
 *
 * @throws DomainError `INVALID_STATE`, `GATEWAY_UNAVAILABLE`
 */
export function createSandboxBank(deps: SessionDeps) {
  return {
    payLate: (order: OrderRow) => asBank('Cannot pay', () => payLate(deps, order)),
    chargeBack: (order: OrderRow, outcome: 'open' | 'won' | 'lost') =>
      asBank('Cannot charge back', () => chargeBack(deps, order, outcome)),
    failRefund: (order: OrderRow) =>
      asBank('Cannot fail the refund', () => failRefund(deps, order)),
  };
}

async function asBank(cannot: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof GatewayRefused) {
      throw new DomainError('INVALID_STATE', `${cannot}; the gateway refuses it`);
    }
    if (error instanceof GatewayUnavailable) throw errorOf('GATEWAY_UNAVAILABLE');
    throw error;
  }
}

async function payLate(deps: SessionDeps, order: OrderRow): Promise<void> {
  const session = await findLatestSession(deps.sql, order.orderNumber);
  if (!session?.gatewaySessionId) {
    throw new DomainError('INVALID_STATE', 'Cannot pay; the order has never had a payment session');
  }
  const { gatewaySessionId } = session;
  await deps.gateways.forOrder(order).payAsBuyer(gatewaySessionId, { isLate: true });
  await recordSessionPayments(deps, { at: order, gatewaySessionId });
}

async function chargeBack(
  deps: SessionDeps,
  order: OrderRow,
  outcome: 'open' | 'won' | 'lost',
): Promise<void> {
  const gateway = deps.gateways.forOrder(order);
  const askedAt = await databaseTime(deps.sql);
  const chargeback = await gateway.chargeBackAsBank(order.gatewayPaymentId ?? '', outcome);
  await recordReversal(deps, order, chargeback, 'gateway', askedAt);
}

async function failRefund(deps: SessionDeps, order: OrderRow): Promise<void> {
  const { gateway, gatewayPaymentId } = order;
  const payment = { gateway, gatewayPaymentId: gatewayPaymentId ?? '' };
  await deps.gateways.forOrder(order).failRefundAsBank(payment.gatewayPaymentId);
  await refundAgainIfBooked(deps, payment);
}
