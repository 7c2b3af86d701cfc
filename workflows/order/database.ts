import type { DatabaseActivities, RecordStepInput } from '../../src/contracts/activities.ts';
import type { KnownStep } from '../../src/contracts/order-workflow.ts';
import { localDatabaseActivities, normalDatabaseActivities, rewriteSteps } from '../activities.ts';

export type OrderDatabase = ReturnType<typeof orderDatabase>;

/**
 * Reads and writes the rows of one order through activities.
 *
 * @param onBlocked called when a failing database blocks the order, and when that ends
 */
export function orderDatabase(orderNumber: string, onBlocked: (isBlocked: boolean) => void) {
  /** A lasting failure must not keep the workflow task, which is one of the worker's slots. */
  async function call<Result>(
    activity: (
      activities: Pick<typeof localDatabaseActivities, keyof DatabaseActivities>,
    ) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await activity(localDatabaseActivities);
    } catch {
      // Catches every error: rethrown, it would end the workflow, and a local activity's failure is not always an
      // ActivityFailure.
      onBlocked(true);
      const result = await activity(normalDatabaseActivities);
      onBlocked(false);
      return result;
    }
  }

  return {
    /** @returns null when the order has no row; an alert is then raised */
    read: (afterStep: number) =>
      call(({ readOrder }) =>
        readOrder.executeWithOptions({ summary: 'Read the order' }, [{ orderNumber, afterStep }]),
      ),

    record: (step: RecordStepInput) =>
      call(({ recordStep }) => recordStep.executeWithOptions({ summary: step.step.kind }, [step])),

    /** Writes steps again that the database has lost. */
    async rewrite(steps: KnownStep[]): Promise<void> {
      onBlocked(true);
      const summary = `Write ${steps.map(({ step }) => step.kind).join(', ')} again`;
      await rewriteSteps.executeWithOptions({ summary: summary.slice(0, 200) }, [
        { orderNumber, steps },
      ]);
      onBlocked(false);
    },
  };
}
