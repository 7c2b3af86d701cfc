import { ApplicationFailure } from '@temporalio/activity';
import type {
  MoneyActivities,
  PaymentSessionActivities,
  RecordStepInput,
  RecordStepResult,
} from '../src/contracts/activities.ts';
import type { Sql } from '../src/db/client.ts';

export interface MoneyDeps {
  sql: Sql;
  recordStep(input: RecordStepInput): Promise<RecordStepResult>;
}

/** Moves the money of an order. Each call is safe to repeat: the gateway knows its key. */
export function createMoneyActivities(deps: MoneyDeps): MoneyActivities & PaymentSessionActivities {
  return {
    async releaseFunds({ orderNumber, started, windowEndedAtMs }) {
      const result = await deps.recordStep({
        orderNumber,
        step: started,
        unlessDisputedBeforeMs: windowEndedAtMs,
      });
      if (result.outcome === 'disputed') return result;
      if (result.outcome === 'too_early') {
        const nextRetryDelay = result.retryAfterMs;
        throw ApplicationFailure.create({ message: 'The window is still open', nextRetryDelay });
      }
      return { outcome: 'released' };
    },
    async refundPayment() {},
    async closePaymentSession() {
      return { outcome: 'closed' };
    },
  };
}
