import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type {
  RecordStepInput,
  RecordStepResult,
  WrittenStep,
} from '../src/contracts/activities.ts';
import type { Change, OrderState, Step } from '../src/domain/index.ts';
import { stateAfter } from '../src/domain/index.ts';
import { findStep, recordStep, sendWebhook } from './activities.ts';
import { currentDetails } from './order-details.ts';

/** `overtaken`: the book had gone on with another step, which the order has taken over. */
export type Recorded = RecordStepResult | { outcome: 'overtaken' };

/**
 * The order as the book has it: its state, which requests are in it, the webhooks under way. The
 * state becomes another one only when its step is written.
 *
 * A workflow task can be lost after its local activity has written a step, and the next one may
 * begin with something else. What is in the book has happened: it is taken over.
 */
export class OrderRecord {
  state: OrderState;
  private readonly orderNumber: string;
  private readonly takenOver: (written: WrittenStep) => void;
  /** Requests whose step is in the book: hearing of one again changes nothing. */
  private readonly requestIds = new Set<string>();
  private openDeliveries = 0;

  /** @param takenOver hears of each step that this workflow did not write, once it is the state */
  constructor(orderNumber: string, state: OrderState, takenOver: (written: WrittenStep) => void) {
    this.orderNumber = orderNumber;
    this.state = state;
    this.takenOver = takenOver;
  }

  has(requestId: string | undefined): boolean {
    return requestId !== undefined && this.requestIds.has(requestId);
  }

  hasOpenDeliveries(): boolean {
    return this.openDeliveries > 0;
  }

  /** Writes a change into the book; the state becomes the new one only if it was written. */
  async write(
    change: Change,
    extra: Omit<RecordStepInput, 'orderNumber' | 'step'> = {},
  ): Promise<Recorded> {
    const { orderNumber } = this;
    const result = await recordStep.executeWithOptions({ summary: change.step.kind }, [
      { orderNumber, step: change.step, ...extra },
    ]);
    if (result.outcome !== 'recorded') return result;
    const { written, deliveryId } = result;
    if (written && !isSame(written, change.step, extra)) {
      this.takeOver(written, deliveryId);
      return { outcome: 'overtaken' };
    }
    if (extra.requestId !== undefined) this.requestIds.add(extra.requestId);
    this.become(written ? stateAfter(this.state, written.step) : change.state);
    if (deliveryId !== null) this.deliver(deliveryId, change.step.kind);
    return result;
  }

  /** Takes over every step that the book has and this workflow does not know. */
  async catchUp(): Promise<void> {
    const { orderNumber } = this;
    for (;;) {
      const found = await findStep({ orderNumber, stepNumber: this.state.stepNumber + 1 });
      if (found === null) return;
      this.takeOver(found.written, found.deliveryId);
    }
  }

  takeOver(written: WrittenStep, deliveryId: string | null): void {
    const { step, requestId } = written;
    if (requestId !== null) this.requestIds.add(requestId);
    this.become(stateAfter(this.state, step));
    if (deliveryId !== null) this.deliver(deliveryId, step.kind);
    this.takenOver(written);
  }

  /** A busy phase begins before anything is written about it. */
  become(state: OrderState): void {
    const before = this.state;
    this.state = state;
    setCurrentDetails(currentDetails(state));
    if (before.status !== state.status || before.disputeCount !== state.disputeCount) {
      upsertSearchAttributes([
        { key: { name: 'OrderStatus', type: 'KEYWORD' }, value: state.status },
        { key: { name: 'DisputeCount', type: 'INT' }, value: state.disputeCount },
      ]);
    }
  }

  /** A webhook runs beside the lifecycle, never in its way. */
  private deliver(deliveryId: string, summary: string): void {
    this.openDeliveries += 1;
    const settled = () => void (this.openDeliveries -= 1);
    // Rejected means FAILED after the fifth attempt: the book says so, and the order goes on.
    void sendWebhook
      .executeWithOptions({ summary: `Webhook ${summary}` }, [{ deliveryId }])
      .then(settled, settled);
  }
}

/** The same thing, asked for by the same request: only its time may differ. */
function isSame(
  { step, requestId, gatewayPaymentId }: WrittenStep,
  asked: Step,
  extra: Pick<RecordStepInput, 'requestId' | 'gatewayPaymentId'>,
): boolean {
  const samePayment = gatewayPaymentId === null || gatewayPaymentId === extra.gatewayPaymentId;
  return step.kind === asked.kind && requestId === (extra.requestId ?? null) && samePayment;
}
