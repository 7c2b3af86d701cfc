import type {
  RecordActivities,
  RecordedStep,
  RecordStepInput,
  RecordStepResult,
} from '../src/contracts/activities.ts';
import type { Sql } from '../src/db/client.ts';
import { markStarted } from '../src/orders/queries.ts';
import { findStep } from '../src/orders/record-step.ts';
import type { FirstAttempts } from '../src/webhooks/first-attempts.ts';

export interface RecordDeps {
  sql: Sql;
  recordStep(input: RecordStepInput): Promise<RecordStepResult>;
}

/** What the order's workflow writes and reads of its order. */
export function createRecordActivities(
  { sql, recordStep }: RecordDeps,
  firstAttempts: FirstAttempts,
): RecordActivities {
  return {
    async beginOrder({ orderNumber }) {
      return withFirstAttempt(firstAttempts, await markStarted(sql, orderNumber));
    },
    async recordStep(input) {
      const result = await recordStep(input);
      // The caller of an Update does not wait for the merchant's endpoint.
      if (result.outcome !== 'recorded' || input.forUpdate) return result;
      return { ...result, recorded: await withFirstAttempt(firstAttempts, result.recorded) };
    },
    findStep: (input) => findStep(sql, input),
  };
}

/** Makes the first attempt of a step's webhook; the delivery is left to be sent if it fails. */
export async function withFirstAttempt<Recorded extends Pick<RecordedStep, 'deliveryId'>>(
  firstAttempts: FirstAttempts,
  recorded: Recorded,
): Promise<Recorded> {
  const { deliveryId } = recorded;
  if (deliveryId === null || !(await firstAttempts.attempt(deliveryId))) return recorded;
  return { ...recorded, deliveryId: null };
}
