import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentRef } from '../contracts/ids.ts';
import type { Sql } from '../db/client.ts';
import { DomainError, REFUSALS } from '../domain/index.ts';
import { errorOf } from '../http/errors.ts';
import type { OrderRow } from '../orders/public.ts';
import { recordCapture } from './captures.ts';
import type { PaymentGateway } from './gateway.ts';
import { GatewayRefused, GatewayUnavailable } from './gateway.ts';
import * as queries from './queries.ts';
import type { SessionDeps } from './sessions.ts';
import { openSession } from './sessions.ts';

/**
 * Pays a sandbox order as its buyer would, at the gateway itself, so that the payment can be
 * refunded there.
 *
 * @returns a function of an order and the command's id; equal commands get the same capture
 * @throws DomainError `INVALID_STATE`, `GATEWAY_UNAVAILABLE`
 */
export function createSandboxPayment(deps: SessionDeps) {
  async function payNow(order: OrderRow, commandId: string): Promise<PaymentRef> {
    if (order.status !== 'ACCEPTED') throw new DomainError('INVALID_STATE', REFUSALS.pay);
    const { session } = await openSession(deps, order);
    // The gateway's callback may arrive before this request records the capture: the PAID step is
    // the result of this command then too.
    await queries.expectHelperPayment(deps.sql, session.sessionId, commandId);
    const gatewaySessionId = session.gatewaySessionId ?? '';
    const gateway = deps.gateways.forOrder(order);
    await payAsBuyer(gateway, gatewaySessionId);
    const payments = await gateway.listSessionPayments(gatewaySessionId);
    const captured = payments.find(({ status }) => status === 'captured');
    if (!captured) throw errorOf('GATEWAY_UNAVAILABLE');
    await recordCapture(deps, order, session.sessionId, captured);
    return { gateway: order.gateway, gatewayPaymentId: captured.gatewayPaymentId };
  }

  return async function pay(order: OrderRow, commandId: string): Promise<PaymentRef> {
    try {
      return await payNow(order, commandId);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // An equal request pays or has paid: both return its capture.
      const capture = await captureOfEqualRequest(deps.sql, order, commandId);
      if (capture === undefined) throw error;
      return capture;
    }
  };
}

function isRefusal(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'INVALID_STATE';
}

const CAPTURE_POLL_MS = 100;
const CAPTURE_POLLS = 30;

async function captureOfEqualRequest(
  sql: Sql,
  order: OrderRow,
  commandId: string,
): Promise<PaymentRef | undefined> {
  for (let polls = 0; polls < CAPTURE_POLLS; polls += 1) {
    const found = await queries.findHelperPayment(sql, order.orderNumber, commandId);
    if (!found) return undefined;
    const { gateway, gatewayPaymentId } = found;
    if (gatewayPaymentId !== null) return { gateway, gatewayPaymentId };
    await sleep(CAPTURE_POLL_MS);
  }
  return undefined;
}

async function payAsBuyer(gateway: PaymentGateway, gatewaySessionId: string): Promise<void> {
  try {
    await gateway.payAsBuyer(gatewaySessionId);
  } catch (error) {
    // The session was paid or closed meanwhile.
    if (error instanceof GatewayRefused) throw new DomainError('INVALID_STATE', REFUSALS.pay);
    if (error instanceof GatewayUnavailable) throw errorOf('GATEWAY_UNAVAILABLE');
    throw error;
  }
}
