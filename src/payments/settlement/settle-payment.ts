import type { Settlement } from '../../domain/index.ts';
import { DomainError, REFUSALS } from '../../domain/index.ts';
import { GatewayRefused, GatewayUnavailable } from '../gateway/gateway.ts';
import type { GatewayDeps } from '../gateway/gateways.ts';
import type { MoneyLease } from '../funds/money-lease.ts';
import { MoneyLeaseTaken, renewMoneyLease, withMoneyLease } from '../funds/money-lease.ts';
import type { PaymentAt } from '../captures/capture-queries.ts';
import type { NewSettlement, SettlementResult } from './settlement-queries.ts';
import { findSettlementFigures, isReferenceTaken } from './settlement-queries.ts';
import { recordRefunds } from '../reversals/reversals.ts';
import type { MovedAtGateway } from './settlement-rule.ts';
import { contradictionOf } from './settlement-rule.ts';

export interface PaymentSettlement {
  orderNumber: string;
  outcome: Settlement;
  /** The reference of the bank transfer, such as its UTR. Absent if there was none. */
  reference?: string | undefined;
  reason: string;
  /** True if the operator accepts a settlement without a check when the gateway cannot be read. */
  notChecked?: boolean;
}

/** True if a repeat cannot succeed. False for an unavailable gateway, or a payment that another process moves. */
export function isFinalRefusal(error: unknown): error is DomainError {
  return (
    error instanceof DomainError &&
    error.code !== 'GATEWAY_UNAVAILABLE' &&
    !(error.cause instanceof MoneyLeaseTaken)
  );
}

/**
 * Settles one payment while no other process moves its money, if the gateway does not contradict it.
 *
 * @param write records the settlement with the figures that were checked
 * @throws DomainError `INVALID_STATE`, `GATEWAY_UNAVAILABLE`
 */
export async function settlePayment(
  deps: GatewayDeps,
  payment: PaymentAt,
  settlement: PaymentSettlement,
  write: (checked: NewSettlement) => Promise<SettlementResult>,
): Promise<void> {
  const { sql } = deps;
  try {
    const settle = async (lease: MoneyLease) => {
      const checked = await checkPayment(deps, payment, settlement);
      const isMerchantPaid = settlement.reference !== undefined;
      if (checked.isChecked && (settlement.outcome === 'refunded' || isMerchantPaid)) {
        await takeBackHeld(deps, payment, () => renewMoneyLease(sql, lease));
      }
      await renewMoneyLease(sql, lease);
      const result = await write(checked);
      if (result !== 'recorded') throw notRecorded(result, payment, settlement);
    };
    await withMoneyLease(sql, payment, settle, { isSettlement: true });
  } catch (error) {
    if (!(error instanceof MoneyLeaseTaken)) throw error;
    const message = `${error.message}: try again in a minute`;
    throw new DomainError('INVALID_STATE', message, { cause: error });
  }
}

/**
 * Compares a settlement with what the gateway and the database have of its payment.
 *
 * @throws DomainError `INVALID_STATE`, `GATEWAY_UNAVAILABLE`
 */
export async function checkPayment(
  deps: GatewayDeps,
  payment: PaymentAt,
  { orderNumber, outcome, reference, reason, notChecked = false }: PaymentSettlement,
): Promise<NewSettlement> {
  const atGateway = await readGateway(deps, payment, notChecked);
  const { capturedPaise, ...figures } = await findSettlementFigures(deps.sql, payment);
  const { restPaise, refundedPaise, chargedBackPaise } = figures;
  const contradiction = contradictionOf(
    { outcome, capturedPaise, restPaise, hasReference: reference !== undefined },
    {
      // The gateway's refunds include those of this service, which these figures of the database leave out.
      toBuyerPaise: Math.max(refundedPaise, atGateway?.toBuyerPaise ?? 0) + chargedBackPaise,
      toMerchantPaise: atGateway?.toMerchantPaise ?? 0,
    },
  );
  if (contradiction !== null) {
    throw new DomainError('INVALID_STATE', `Cannot settle as ${outcome}: ${contradiction}`);
  }
  // Asked again when the settlement is written. Until then what is on hold would be taken back for nothing.
  if (await isReferenceTaken(deps.sql, orderNumber, reference)) {
    throw notRecorded('reference_taken', payment, { outcome, reference });
  }
  return {
    ...figures,
    outcome,
    reference: reference ?? null,
    reason,
    isChecked: atGateway !== null,
  };
}

/**
 * Takes back the money on hold for the merchant, who does not get it, or has got it by bank. Called before the settlement
 * is written, so that an operator repeats both if this fails.
 *
 * @throws DomainError `GATEWAY_UNAVAILABLE`
 */
async function takeBackHeld(
  deps: GatewayDeps,
  payment: PaymentAt,
  beforeMoving: () => Promise<void>,
): Promise<void> {
  const { gatewayPaymentId } = payment;
  try {
    await deps.gateways.forOrder(payment).takeBackHeld({ gatewayPaymentId, beforeMoving });
  } catch (error) {
    if (!(error instanceof GatewayUnavailable) && !(error instanceof GatewayRefused)) throw error;
    const message = `What is on hold for the merchant cannot be taken back (${error.message}): try again later`;
    throw new DomainError('GATEWAY_UNAVAILABLE', message, { cause: error });
  }
}

/**
 * Reads the refunds and transfers of a payment, and records refunds whose callbacks were lost.
 *
 * @returns null if the gateway cannot be read and the operator accepts that
 * @throws DomainError `GATEWAY_UNAVAILABLE` if the operator does not
 */
async function readGateway(
  deps: GatewayDeps,
  payment: PaymentAt,
  notChecked: boolean,
): Promise<MovedAtGateway | null> {
  const { gatewayPaymentId } = payment;
  try {
    const gateway = deps.gateways.forOrder(payment);
    const refunds = await gateway.listRefunds(gatewayPaymentId);
    const { releasedPaise } = await gateway.fetchTransferred(gatewayPaymentId);
    await recordRefunds(deps, payment, refunds);
    const live = refunds.filter(({ state }) => state !== 'failed');
    return {
      toBuyerPaise: live.reduce((sum, { amountPaise }) => sum + amountPaise, 0),
      toMerchantPaise: releasedPaise,
    };
  } catch (error) {
    if (!(error instanceof GatewayUnavailable) && !(error instanceof GatewayRefused)) throw error;
    if (notChecked) return null;
    const message = `The refunds and transfers of the payment cannot be read (${error.message}): try again later, or look at the gateway and confirm "not checked"`;
    throw new DomainError('GATEWAY_UNAVAILABLE', message, { cause: error });
  }
}

function notRecorded(
  result: Exclude<SettlementResult, 'recorded'>,
  { gatewayPaymentId }: PaymentAt,
  { outcome, reference }: Pick<PaymentSettlement, 'outcome' | 'reference'>,
): DomainError {
  const messages = {
    settled: `Payment ${gatewayPaymentId} is settled outside already`,
    refused: REFUSALS.settleRefunded,
    refunded: `Payment ${gatewayPaymentId} is not settled: it is refunded already, so a bank transfer of it has paid the buyer twice`,
    changed: `Cannot settle as ${outcome}: the payment was reversed at the gateway meanwhile, try again`,
    reference_taken: `Another order is settled with the reference ${reference}`,
  };
  return new DomainError('INVALID_STATE', messages[result]);
}
