import type { TransferError } from '../state/entities.ts';

/** Of a transfer that has not failed. */
export const NO_ERROR: Omit<TransferError, 'id'> = {
  code: null,
  description: null,
  reason: null,
  field: null,
  step: null,
  source: null,
  metadata: null,
};

/** The two samples of api/payments/route/transfers-entity, word for word. */
const ERRORS = {
  insufficient_balance: {
    code: 'BAD_REQUEST_TRANSFER_INSUFFICIENT_BALANCE',
    description: 'Transfer failed due to insufficient balance',
    step: 'balance_check',
  },
  transfer_amount_higher_than_balance: {
    code: 'BAD_REQUEST_PAYMENT_FEES_GREATER_THAN_AMOUNT',
    description: 'Transfer amount was greater than amount available for transfer',
    step: 'amount_validation',
  },
} as const;

/** Why a transfer fails. */
export type FailureReason = keyof typeof ERRORS;
/** Every reason. */
export const FAILURE_REASONS = Object.keys(ERRORS) as FailureReason[];

/** The error of a transfer that failed for this reason. */
export function errorOf(id: string, reason: FailureReason): TransferError {
  return { ...NO_ERROR, ...ERRORS[reason], reason, source: 'transfer', id };
}
