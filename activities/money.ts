import { ApplicationFailure } from '@temporalio/activity';
import type {
  MoneyActivities,
  PaymentSessionActivities,
  ReconcileActivities,
  RecordStepInput,
  RecordStepResult,
  SurplusActivities,
} from '../src/contracts/activities.ts';
import { findOrderByNumber } from '../src/orders/queries.ts';
import * as funds from '../src/payments/funds.ts';
import { GatewayRefused } from '../src/payments/gateway.ts';
import type { ReconcileDeps } from '../src/payments/reconcile.ts';
import { reconcilePayments } from '../src/payments/reconcile.ts';
import type { SessionDeps } from '../src/payments/sessions.ts';
import { closeOpenSession } from '../src/payments/sessions.ts';

export interface MoneyDeps extends ReconcileDeps, SessionDeps {
  recordStep(input: RecordStepInput): Promise<RecordStepResult>;
}

/** A refusal for good is tried again this often: somebody may have put it right. */
const RETRY_REFUSED = '1 hour';

/** Moves the money of orders. Each call is safe to repeat: the gateway knows its key. */
export function createMoneyActivities(
  deps: MoneyDeps,
): MoneyActivities & PaymentSessionActivities & SurplusActivities & ReconcileActivities {
  return {
    async releaseFunds({ orderNumber, started, windowEndedAtMs }) {
      const result = await deps.recordStep({
        orderNumber,
        step: started,
        unlessDisputedBeforeMs: windowEndedAtMs,
      });
      if (result.outcome === 'disputed') return result;
      if (result.outcome === 'recorded') {
        const { written, deliveryId } = result;
        const isOther = written !== undefined && written.step.kind !== started.kind;
        if (isOther) return { outcome: 'overtaken', written, deliveryId };
      }
      if (result.outcome === 'too_early') {
        const nextRetryDelay = result.retryAfterMs;
        throw ApplicationFailure.create({ message: 'The window is still open', nextRetryDelay });
      }
      await untilMoved(deps, orderNumber, () => funds.releaseFunds(deps, orderNumber));
      return { outcome: 'released' };
    },
    refundPayment: ({ orderNumber, reason }) =>
      untilMoved(deps, orderNumber, () => funds.refundOrder(deps, orderNumber, reason)),
    refundSurplus: ({ gatewayPaymentId }) =>
      untilMoved(deps, gatewayPaymentId, () => funds.refundSurplus(deps, gatewayPaymentId)),
    async closePaymentSession({ orderNumber }) {
      return closeOpenSession(deps, await findOrderByNumber(deps.sql, orderNumber));
    },
    reconcilePayments: () => reconcilePayments(deps),
  };
}

/** What the gateway refuses for good needs an operator; until then it is tried once an hour. */
async function untilMoved(
  { log }: MoneyDeps,
  subject: string,
  move: () => Promise<void>,
): Promise<void> {
  try {
    await move();
  } catch (error) {
    if (!(error instanceof GatewayRefused)) throw error;
    log.error({ alert: 'gateway_refused', subject, err: error }, 'The gateway refuses for good');
    throw ApplicationFailure.create({
      message: error.message,
      type: 'GATEWAY_REFUSED',
      nextRetryDelay: RETRY_REFUSED,
      cause: error,
    });
  }
}
