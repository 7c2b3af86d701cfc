import { DomainError } from '../../domain/index.ts';
import type { HelperDeps } from '../commands/sandbox-helpers.ts';
import { runHelper } from '../commands/sandbox-helpers.ts';
import type { OrderRow } from '../rows.ts';
import { chargebackSchema } from '../schemas.ts';
import type { DeclaredCommand } from './route-parts.ts';
import { declareCommand } from './route-parts.ts';

/** Simulates the buyer's bank at the gateway, in the sandbox. When a function returns, the result is recorded. */
export interface BankHelperDeps extends HelperDeps {
  /** Pays on the order's latest payment session, which is closed. */
  payLate(order: OrderRow): Promise<void>;
  chargeBack(order: OrderRow, outcome: 'open' | 'won' | 'lost'): Promise<void>;
  failRefund(order: OrderRow): Promise<void>;
}

const bankHelper = {
  base: 'sandbox',
  below: '/test-helpers',
  tags: ['Sandbox test helpers'],
  errors: ['GATEWAY_UNAVAILABLE', 'PAYMENTS_NOT_AVAILABLE'],
  waitsForGateway: true,
} as const;

/** The test helpers for what the buyer's bank can do to a payment. */
export function bankHelpers(deps: BankHelperDeps): DeclaredCommand[] {
  return [
    latePaymentHelper(deps),
    secondPaymentHelper(deps),
    chargebackHelper(deps),
    failRefundHelper(deps),
  ];
}

/** @throws DomainError `INVALID_STATE` if `fits` is false */
function assertFits(fits: boolean, refusal: string): void {
  if (!fits) throw new DomainError('INVALID_STATE', refusal);
}

function latePaymentHelper(deps: BankHelperDeps): DeclaredCommand {
  return declareCommand({
    ...bankHelper,
    action: 'late-payment',
    operationId: 'testLatePayment',
    summary: 'Pay a cancelled order as its buyer',
    description:
      'The payment arrives after the order was cancelled: it is refunded in full, and the order stays CANCELLED. ' +
      'The order must have had a payment session.',
    done: 'Order paid late',
    body: undefined,
    carryOut: (given) =>
      runHelper(deps, { ...given, name: 'latePayment', body: {} }, (order) => {
        const fits = order.status === 'CANCELLED';
        assertFits(fits, 'Cannot pay late; order must be in CANCELLED status');
        return deps.payLate(order);
      }),
  });
}

function secondPaymentHelper(deps: BankHelperDeps): DeclaredCommand {
  return declareCommand({
    ...bankHelper,
    action: 'second-payment',
    operationId: 'testSecondPayment',
    summary: 'Pay an order a second time as its buyer',
    description: 'The second payment is refunded in full, and the order keeps its status.',
    done: 'Order paid a second time',
    body: undefined,
    carryOut: (given) =>
      runHelper(deps, { ...given, name: 'secondPayment', body: {} }, (order) => {
        const fits = order.gatewayPaymentId !== null;
        assertFits(fits, 'Cannot pay a second time; order must have been paid');
        return deps.payLate(order);
      }),
  });
}

function chargebackHelper(deps: BankHelperDeps): DeclaredCommand {
  return declareCommand({
    ...bankHelper,
    action: 'chargeback',
    operationId: 'testChargeback',
    summary: "Charge the payment back as the buyer's bank",
    description:
      'Opens a chargeback of the payment, or ends the one that is open: `won` if you keep the money, `lost` if the ' +
      'bank takes it. While it is open, no money of the payment moves. The timeline has it; no webhook tells of it.',
    done: 'Payment charged back',
    body: chargebackSchema,
    carryOut: (given, { outcome }) =>
      runHelper(deps, { ...given, name: 'chargeback', body: { outcome } }, (order) => {
        const fits = order.gatewayPaymentId !== null;
        assertFits(fits, 'Cannot charge back; order must have been paid');
        return deps.chargeBack(order, outcome);
      }),
  });
}

function failRefundHelper(deps: BankHelperDeps): DeclaredCommand {
  return declareCommand({
    ...bankHelper,
    action: 'fail-refund',
    operationId: 'testFailRefund',
    summary: "Fail the refund at the buyer's bank",
    description:
      'The processed refund of a REFUNDED order fails: it is made again, and `refund.processed_at` is null until ' +
      'then. The order stays REFUNDED, and no second event is sent.',
    done: 'Refund failed',
    body: undefined,
    carryOut: (given) =>
      runHelper(deps, { ...given, name: 'failRefund', body: {} }, (order) => {
        const fits = order.status === 'REFUNDED' && order.refundProcessedAt !== null;
        assertFits(
          fits,
          'Cannot fail the refund; order must be in REFUNDED status, with its refund processed',
        );
        return deps.failRefund(order);
      }),
  });
}
