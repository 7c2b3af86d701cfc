import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentRef } from '../../contracts/ids.ts';
import { databaseTime } from '../../db/client.ts';
import { DomainError, REFUSALS, transitionOf } from '../../domain/index.ts';
import { errorOf } from '../../http/responses/errors.ts';
import type { OrderRow } from '../../orders/public.ts';
import type { PaymentGateway } from '../gateway/gateway.ts';
import type { GatewayPayment } from '../gateway/gateway-objects.ts';
import { GatewayRefused, GatewayUnavailable } from '../gateway/gateway.ts';
import { expectHelperPayment, findHelperSession } from './session-queries.ts';
import type { SessionDeps } from './sessions.ts';
import { recordCapture } from '../captures/captures.ts';
import { openSession } from './sessions.ts';

/**
 * Pays a sandbox order at the gateway itself, as its buyer would, so that the payment can be refunded there.
 *
 * @returns a function of an order and the command's id; equal commands get the same capture
 * @throws DomainError `INVALID_STATE`, `GATEWAY_UNAVAILABLE`
 */
export function createSandboxPayment(deps: SessionDeps) {
  async function payNow(order: OrderRow, commandId: string): Promise<PaymentRef> {
    if (!transitionOf(order, 'pay')) throw refusalOfPay();
    const { session } = await openSession(deps, order);
    // The gateway's callback may arrive before this request records the capture. The PAID step then still carries
    // out this command.
    const isExpected = await expectHelperPayment(deps.sql, session.sessionId, commandId);
    if (!isExpected) throw refusalOfPay();
    const gatewaySessionId = session.gatewaySessionId ?? '';
    const refused = await payAsBuyer(deps.gateways.forOrder(order), gatewaySessionId);
    // A paid session refuses, too: an earlier request of this command may have failed after it had paid.
    const capture = await recordPaid(order, gatewaySessionId);
    if (!capture) throw refused ?? errorOf('GATEWAY_UNAVAILABLE');
    // Of several commands at the same moment, the PAID step carries out one.
    const isPaidByThis = await findHelperSession(deps.sql, order.orderNumber, commandId);
    if (!isPaidByThis) throw refusalOfPay();
    return capture;
  }

  async function recordPaid(
    order: OrderRow,
    gatewaySessionId: string,
  ): Promise<PaymentRef | undefined> {
    const askedAt = await databaseTime(deps.sql);
    const payment = await untilCaptured(deps.gateways.forOrder(order), gatewaySessionId);
    if (!payment) return undefined;
    // The request sends the order its own message, because it waits for the result.
    await recordCapture(deps, { at: order, payment, gatewaySessionId, askedAt });
    return { gateway: order.gateway, gatewayPaymentId: payment.gatewayPaymentId };
  }

  return async function pay(order: OrderRow, commandId: string): Promise<PaymentRef> {
    try {
      return await payNow(order, commandId);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // An equal request has paid. Both return its capture, also if that request died before it had recorded it.
      const paid = await findHelperSession(deps.sql, order.orderNumber, commandId);
      const capture = paid?.capture ?? (paid && (await recordPaid(order, paid.gatewaySessionId)));
      if (!capture) throw error;
      return capture;
    }
  };
}

const ASK_AGAIN_AFTER_MS = 300;
/** A list may lack a new payment for a while. The request must be answered within 4.5 s. */
const LISTED_WITHIN_MS = 2500;

async function untilCaptured(
  gateway: PaymentGateway,
  gatewaySessionId: string,
): Promise<GatewayPayment | undefined> {
  for (let waitedMs = 0; ; waitedMs += ASK_AGAIN_AFTER_MS) {
    const payments = await gateway.listSessionPayments(gatewaySessionId);
    const captured = payments.find(({ status }) => status === 'captured');
    if (captured || payments.length > 0 || waitedMs >= LISTED_WITHIN_MS) return captured;
    await sleep(ASK_AGAIN_AFTER_MS);
  }
}

const refusalOfPay = () => new DomainError('INVALID_STATE', REFUSALS.pay);

function isRefusal(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'INVALID_STATE';
}

/** @returns the refusal of a session that was paid or closed in the meantime */
async function payAsBuyer(
  gateway: PaymentGateway,
  gatewaySessionId: string,
): Promise<DomainError | undefined> {
  try {
    await gateway.payAsBuyer(gatewaySessionId);
    return undefined;
  } catch (error) {
    if (error instanceof GatewayRefused) return refusalOfPay();
    if (error instanceof GatewayUnavailable) throw errorOf('GATEWAY_UNAVAILABLE');
    throw error;
  }
}
