import type {
  OrderRecord,
  RecordActivities,
  RecordStepInput,
  RecordStepResult,
} from '../../src/contracts/activities.ts';
import type { KnownStep } from '../../src/contracts/order-workflow.ts';
import { recordSoon, recordEventually, rewriteSteps } from '../activities.ts';

/** Reads and writes the rows of one order through activities. */
export class OrderDatabase {
  private readonly orderNumber: string;
  private readonly onBlocked: (isBlocked: boolean) => void;

  /** @param onBlocked called when a failing database blocks the order, and when that ends */
  constructor(orderNumber: string, onBlocked: (isBlocked: boolean) => void) {
    this.orderNumber = orderNumber;
    this.onBlocked = onBlocked;
  }

  /** @returns null when the order has no row; an alert is then raised */
  read(afterStep: number): Promise<OrderRecord | null> {
    const { orderNumber } = this;
    return this.call(({ readOrder }) =>
      readOrder.executeWithOptions({ summary: 'Read the order' }, [{ orderNumber, afterStep }]),
    );
  }

  record(step: RecordStepInput): Promise<RecordStepResult> {
    return this.call(({ recordStep }) =>
      recordStep.executeWithOptions({ summary: step.step.kind }, [step]),
    );
  }

  /** Writes steps again that the database has lost. */
  async rewrite(steps: KnownStep[]): Promise<void> {
    const { orderNumber } = this;
    this.onBlocked(true);
    const summary = `Write ${steps.map(({ step }) => step.kind).join(', ')} again`;
    await rewriteSteps.executeWithOptions({ summary: summary.slice(0, 200) }, [
      { orderNumber, steps },
    ]);
    this.onBlocked(false);
  }

  /** A lasting failure must not keep the workflow task, which is one of the worker's slots. */
  private async call<Result>(
    activity: (activities: Pick<typeof recordSoon, keyof RecordActivities>) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await activity(recordSoon);
    } catch {
      // Catches every error: rethrown, it would end the workflow, and a local activity's failure is not always an
      // ActivityFailure.
      this.onBlocked(true);
      const result = await activity(recordEventually);
      this.onBlocked(false);
      return result;
    }
  }
}
