import type { Settlement } from '../../domain/index.ts';

/** An operator's statement about the money of one payment. */
export interface SettledMoney {
  /** `released`: the rest went to the merchant. `refunded`: it went back to the buyer. */
  outcome: Settlement;
  capturedPaise: number;
  /** The rest of the payment by the ledger, which the settlement moves. */
  restPaise: number;
  /** True if a bank transfer moved the rest. Without a reference, nothing was moved outside the gateway. */
  hasReference: boolean;
}

/** The amounts of a payment that the gateway has moved or is moving. */
export interface MovedAtGateway {
  /** Refunds by this service and others that have not failed, and chargebacks. */
  toBuyerPaise: number;
  /**
   * Transfers that have not failed, minus what was reversed. A transfer on hold does not count: a refund or
   * a settlement reverses it, and the service releases no hold of a settled order.
   */
  toMerchantPaise: number;
}

/**
 * Compares a settlement outside with the gateway. One payment must not be paid out twice:
 *
 * - as `released`: what is left is not with the buyer. The buyer has at most what was captured less
 *   what is left. So a refund or chargeback that the ledger has is no obstacle; one that is pending, and a
 *   refund of this service, are.
 * - as `refunded`: the merchant has nothing of the payment.
 * - with a reference: what the gateway has moved and what the bank transfer has moved are together
 *   at most what was captured, so the bank has not paid what the gateway pays too.
 *
 * If nothing is left, the settlement moves nothing, and only the second rule applies.
 *
 * @returns what the gateway has moved, if the settlement contradicts it; otherwise null
 */
export function contradictionOf(
  { outcome, capturedPaise, restPaise, hasReference }: SettledMoney,
  { toBuyerPaise, toMerchantPaise }: MovedAtGateway,
): string | null {
  if (outcome === 'refunded' && toMerchantPaise > 0) {
    return `the gateway has released ${toMerchantPaise} paise of the payment to the merchant`;
  }
  if (restPaise === 0) return null;
  if (outcome === 'released' && toBuyerPaise + restPaise > capturedPaise) {
    return `${toBuyerPaise} paise of the payment were refunded or charged back at the gateway, or may be`;
  }
  if (hasReference && toBuyerPaise + toMerchantPaise + restPaise > capturedPaise) {
    return `the gateway has moved ${toBuyerPaise} paise to the buyer and ${toMerchantPaise} to the merchant, so with the bank transfer of ${restPaise} more is paid than the ${capturedPaise} captured`;
  }
  return null;
}
