import {
  CancellationScope,
  condition,
  isCancellation,
  log,
  setCurrentDetails,
  startChild,
  Trigger,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type {
  RecordStepInput,
  RecordStepResult,
  WrittenStep,
} from '../src/contracts/activities.ts';
import { REFUND_SURPLUS_WORKFLOW, refundWorkflowId } from '../src/contracts/ids.ts';
import type {
  IncomingMessage,
  OrderInput,
  OrderMessageName,
} from '../src/contracts/order-workflow.ts';
import type { Busy, Change, Command, Decision, OrderState, Step } from '../src/domain/index.ts';
import {
  announceBusy,
  decide,
  DomainError,
  finishBusy,
  giveUpClosing,
  isFinal,
  isReceivedInTime,
  REFUSALS,
  stateAfter,
} from '../src/domain/index.ts';
import {
  closeOnce,
  closePatiently,
  findStep,
  recordStep,
  refundPayment,
  releaseFunds,
  sendWebhook,
} from './activities.ts';
import { currentDetails, deadlineSummary } from './order-details.ts';
import type { Request } from './requests.ts';
import { commandOf, failureOf, recordedWith, refuse } from './requests.ts';

/** `overtaken`: the book had gone on with another step, which the order has taken over. */
type Recorded = RecordStepResult | { outcome: 'overtaken' };

/** What must be in the book before a message about it, and is not. */
const NOT_IN_THE_BOOK = {
  payment_not_captured: 'The payment is not in the book as captured for this order',
  not_settled: 'No settlement is recorded for this order',
  session_open: 'A payment session is open',
  disputed: 'A dispute is waiting',
  too_early: 'The window is still open',
} as const satisfies Record<Exclude<RecordStepResult['outcome'], 'recorded'>, string>;

const GATEWAY_AWAY = new DomainError(
  'GATEWAY_UNAVAILABLE',
  'The UPI payment gateway is temporarily unavailable; retry after a few minutes',
);

/** What the money side answered: it is handled in turn, like a request. */
type Outcome = () => Promise<void>;

/**
 * One order at work: its state, the messages that wait, the webhooks under way.
 *
 * Messages are handled one at a time, and the state changes only when its step is in the book. So a
 * payment that turns out not to be in the book, or a session that turns out to be open, never has
 * to be undone, and two messages in one activation cannot see half a change.
 */
export class OrderProcess {
  state: OrderState;
  private readonly input: OrderInput;
  private readonly requests: Request[] = [];
  private readonly outcomes: Outcome[] = [];
  /** Somebody has reason to think that the book has gone on without this workflow. */
  private mayBeBehind = false;
  private openDeliveries = 0;
  /** The request that waits for the payment session to be closed. */
  private closingRequest: Request | undefined;
  /** Requests whose step is in the book: hearing of one again changes nothing. */
  private readonly recordedIds = new Set<string>();
  /** The capture that made the order PAID: hearing of it again is no surplus. */
  private paidBy: string | undefined;
  /** The call to the gateway under way: an operator who settled outside ends it. */
  private gatewayCall: CancellationScope | undefined;
  /** The order as RELEASE_STARTED left it, which the releasing activity itself records. */
  private releasing: OrderState | undefined;

  constructor(input: OrderInput, state: OrderState) {
    this.input = input;
    this.state = state;
  }

  /**
   * A Signal may come at any time, in any form. One that is malformed is dropped here; one that
   * cannot be done is refused in its turn, after what came before it.
   */
  signal(name: OrderMessageName, message: IncomingMessage = {}): void {
    try {
      this.requests.push({ command: commandOf(name, message), message });
    } catch (error) {
      log.warn('Signal dropped', { signal: name, reason: String(error) });
    }
  }

  askToCatchUp(): void {
    this.mayBeBehind = true;
  }

  /** Answers when the message's step is recorded, so that a GET right after sees it. */
  async update(name: OrderMessageName, message: IncomingMessage = {}): Promise<void> {
    // Handlers run in the workflow's own scope, which an operator's cancellation request cancels.
    await CancellationScope.nonCancellable(async () => {
      const answer = new Trigger<void>();
      this.requests.push({ command: commandOf(name, message), message, answer });
      await answer;
    });
  }

  /**
   * Refuses what would be illegal after everything that already waits.
   *
   * @throws ApplicationFailure with the law's exact message
   */
  validate(name: OrderMessageName, message: IncomingMessage = {}): void {
    const command = commandOf(name, message);
    // What the state is will be known when the order has caught up.
    if (this.mayBeBehind || this.isRepeated(message) || this.mustWait(command)) return;
    const decision = decideNow(this.expectedState({ counting: 'no payment' }), command);
    if (decision.outcome !== 'refused') return;
    const afterPayment = decideNow(this.expectedState({ counting: 'payments' }), command);
    if (afterPayment.outcome === 'refused') throw failureOf(decision.error);
  }

  /** True when the status is final, every message is answered and every webhook settled. */
  isOver(): boolean {
    const idle = this.requests.length === 0 && this.outcomes.length === 0;
    return isFinal(this.state.status) && idle && this.openDeliveries === 0;
  }

  /** Handles the next thing that happens: an outcome, a message, or the deadline passing. */
  async handleNext(): Promise<void> {
    if (await this.deadlinePasses()) {
      return this.handle({ command: { type: 'expire' }, message: {} });
    }
    if (this.mayBeBehind) return this.catchUp();
    const outcome = this.outcomes.shift();
    if (outcome) return outcome();
    const request = this.nextRequest();
    if (!request) return;
    await this.handle(request);
    const place = this.requests.indexOf(request);
    if (place >= 0) this.requests.splice(place, 1);
  }

  /** Writes a change into the book; the state becomes the new one only if it was written. */
  async record(
    change: Change,
    extra: Omit<RecordStepInput, 'orderNumber' | 'step'> = {},
  ): Promise<Recorded> {
    const { orderNumber } = this.input;
    const result = await recordStep.executeWithOptions({ summary: change.step.kind }, [
      { orderNumber, step: change.step, ...extra },
    ]);
    if (result.outcome !== 'recorded') return result;
    const { written, deliveryId } = result;
    if (written && !isSame(written, change.step, extra)) {
      this.takeOver(written, deliveryId);
      return { outcome: 'overtaken' };
    }
    if (extra.requestId !== undefined) this.recordedIds.add(extra.requestId);
    this.become(written ? stateAfter(this.state, written.step) : change.state);
    if (deliveryId !== null) this.deliver(deliveryId, change.step.kind);
    return result;
  }

  /** Takes over every step that the book has and this workflow does not know. */
  private async catchUp(): Promise<void> {
    this.mayBeBehind = false;
    const { orderNumber } = this.input;
    for (;;) {
      const found = await findStep({ orderNumber, stepNumber: this.state.stepNumber + 1 });
      if (found === null) return;
      this.takeOver(found.written, found.deliveryId);
    }
  }

  /**
   * A workflow task can be lost after its local activity has written a step, and this one may have
   * begun with something else. What is in the book has happened, and whoever asked for it is told.
   */
  private takeOver({ step, requestId, gatewayPaymentId }: WrittenStep, deliveryId: string | null) {
    this.become(stateAfter(this.state, step));
    if (deliveryId !== null) this.deliver(deliveryId, step.kind);
    const asked = this.requests.findIndex(
      ({ message }) =>
        (requestId !== null && message.requestId === requestId) ||
        (gatewayPaymentId !== null && message.gatewayPaymentId === gatewayPaymentId),
    );
    const [request] = asked < 0 ? [] : this.requests.splice(asked, 1);
    if (requestId !== null) this.recordedIds.add(requestId);
    if (gatewayPaymentId !== null) this.paid(gatewayPaymentId);
    if (step.kind === 'ORDER_CANCELLED') this.endClosing(null);
    if (step.kind === 'PAYMENT_STILL_OPEN') this.endClosing(GATEWAY_AWAY);
    if (step.kind === 'REFUND_STARTED' && step.busy?.kind === 'refunding') {
      const { reason } = step.busy;
      this.run(() => this.refund(reason));
    }
    if (step.kind === 'CLOSING_PAYMENT' && step.busy?.kind === 'closing') {
      const { because } = step.busy;
      this.startClosing(because, because === 'cancel' ? this.takeCancel() : undefined);
    }
    request?.answer?.resolve();
  }

  /** CLOSING_PAYMENT has no request id, for it answers nobody; any cancel that waits will do. */
  private takeCancel(): Request | undefined {
    const place = this.requests.findIndex(({ command }) => command.type === 'cancel');
    return place < 0 ? undefined : this.requests.splice(place, 1)[0];
  }

  /** @returns true when the deadline came before anything else did */
  private async deadlinePasses(): Promise<boolean> {
    const ready = () =>
      this.mayBeBehind ||
      this.outcomes.length > 0 ||
      this.nextRequest() !== undefined ||
      this.isOver();
    const { busy, deadline } = this.state;
    if (ready()) return false;
    if (busy !== null || deadline === null) {
      await condition(ready);
      return false;
    }
    // A time-out of exactly 0 would write a patch marker into the history.
    const timeoutMs = Math.max(1, deadline.atMs - Date.now());
    return !(await condition(ready, timeoutMs, { summary: deadlineSummary(deadline) }));
  }

  /** Asks the law again as long as the book turns out to have gone on. */
  private async handle(request: Request): Promise<void> {
    let result = await this.handleOnce(request);
    while (result === 'overtaken' && request !== this.closingRequest) {
      result = await this.handleOnce(request);
    }
  }

  private async handleOnce(request: Request): Promise<'overtaken' | void> {
    const { command, message, answer } = request;
    if (this.isRepeated(message)) return answer?.resolve();
    const state = command.type === 'settle' ? (this.releasing ?? this.state) : this.state;
    const decision = decideNow(state, command);
    if (decision.outcome === 'refused') {
      if (message.gatewayPaymentId !== undefined) await giveBack(message.gatewayPaymentId);
      return refuse(request, decision.error);
    }
    if (decision.outcome === 'busy') return this.begin(decision.busy, decision.state, request);
    const result = await this.record(decision, {
      ...recordedWith(request),
      ...(command.type === 'settle' && { ifSettledOutside: true }),
    });
    if (result.outcome === 'overtaken') return result.outcome;
    if (result.outcome !== 'recorded') {
      return refuse(request, new DomainError('INVALID_STATE', NOT_IN_THE_BOOK[result.outcome]));
    }
    this.remember(command, message);
    answer?.resolve();
  }

  private remember({ type }: Command, { gatewayPaymentId }: IncomingMessage): void {
    if (type === 'settle') this.gatewayCall?.cancel();
    if (type === 'pay' && gatewayPaymentId !== undefined) this.paid(gatewayPaymentId);
  }

  private paid(gatewayPaymentId: string): void {
    this.paidBy = gatewayPaymentId;
    this.endClosing(new DomainError('INVALID_STATE', REFUSALS.cancel));
  }

  private async begin(
    busy: Busy,
    state: OrderState,
    request: Request,
  ): Promise<'overtaken' | void> {
    switch (busy.kind) {
      case 'closing':
        return this.beginClosing(busy.because, state, request);
      case 'releasing':
        this.become(state);
        return this.run(() => this.release(state));
      case 'refunding': {
        const announced = announceBusy(state, Date.now());
        const result = await this.record(announced, recordedWith(request));
        if (result.outcome === 'overtaken') return result.outcome;
        request.answer?.resolve();
        return this.run(() => this.refund(busy.reason));
      }
    }
  }

  /** With no payment session open there is nothing to close, and nobody to ask. */
  private async beginClosing(
    because: 'cancel' | 'expiry',
    state: OrderState,
    request: Request,
  ): Promise<'overtaken' | void> {
    const cancelled = finishBusy(state, Date.now());
    const recorded = recordedWith(request);
    const result = await this.record(cancelled, { ...recorded, unlessSessionOpen: true });
    if (result.outcome === 'overtaken') return result.outcome;
    if (result.outcome === 'recorded') return request.answer?.resolve();
    // Its request id belongs to the step that answers it.
    const forUpdate = request.answer !== undefined;
    const announced = await this.record(announceBusy(state, Date.now()), { forUpdate });
    if (announced.outcome === 'overtaken') return announced.outcome;
    this.startClosing(because, request);
  }

  private startClosing(because: 'cancel' | 'expiry', request: Request | undefined): void {
    this.closingRequest = request;
    this.run(() => this.close(because === 'cancel' ? closeOnce : closePatiently));
  }

  private async close(closePaymentSession: typeof closeOnce): Promise<Outcome> {
    const { orderNumber } = this.input;
    try {
      const result = await closePaymentSession.executeWithOptions(
        { summary: 'Close the payment session' },
        [{ orderNumber }],
      );
      return () => this.closed(result.outcome === 'paid' ? result.gatewayPaymentId : null);
    } catch (error) {
      log.warn('The payment session could not be closed', { reason: String(error) });
      return () => this.notClosed();
    }
  }

  private async closed(gatewayPaymentId: string | null): Promise<void> {
    // A payment may have come by itself meanwhile.
    if (this.state.busy?.kind !== 'closing') return;
    if (gatewayPaymentId !== null) {
      return this.handle({ command: { type: 'pay' }, message: { gatewayPaymentId } });
    }
    const message = this.closingRequest?.message ?? {};
    const result = await this.record(finishBusy(this.state, Date.now()), recordedWith({ message }));
    if (result.outcome === 'overtaken') return this.closed(gatewayPaymentId);
    this.endClosing(null);
  }

  private async notClosed(): Promise<void> {
    if (this.state.busy?.kind !== 'closing') return;
    const result = await this.record(giveUpClosing(this.state, Date.now()));
    if (result.outcome === 'overtaken') return this.notClosed();
    this.endClosing(GATEWAY_AWAY);
  }

  private endClosing(error: DomainError | null): void {
    if (this.closingRequest && error) refuse(this.closingRequest, error);
    else this.closingRequest?.answer?.resolve();
    this.closingRequest = undefined;
  }

  private async release(state: OrderState): Promise<Outcome> {
    const { orderNumber } = this.input;
    const started = announceBusy(state, Date.now());
    const windowEndedAtMs = state.deadline?.atMs ?? Date.now();
    this.releasing = started.state;
    const result = await releaseFunds.executeWithOptions({ summary: 'Release the funds' }, [
      { orderNumber, started: started.step, windowEndedAtMs },
    ]);
    if (result.outcome === 'released') return () => this.finish(started.state);
    this.releasing = undefined;
    if (result.outcome === 'overtaken') {
      const { written, deliveryId } = result;
      return async () => this.takeOver(written, deliveryId);
    }
    const { requestId, receivedAtMs } = result.dispute;
    return async () => {
      this.become({ ...state, busy: null });
      await this.handle({ command: { type: 'dispute', receivedAtMs }, message: { requestId } });
    };
  }

  private async refund(reason: (Busy & { kind: 'refunding' })['reason']): Promise<Outcome> {
    const { orderNumber } = this.input;
    await refundPayment.executeWithOptions({ summary: 'Refund the buyer' }, [
      { orderNumber, reason },
    ]);
    return () => this.finish(this.state);
  }

  private async finish(state: OrderState): Promise<void> {
    // An operator has settled it outside at the very same moment.
    if (this.state.busy === null) return;
    await this.record(finishBusy(state, Date.now()));
  }

  /** Lets the money side work beside the lifecycle; its outcome is handled in turn. */
  private run(work: () => Promise<Outcome>): void {
    this.gatewayCall = new CancellationScope();
    void this.gatewayCall.run(work).then(
      (outcome) => this.outcomes.push(outcome),
      (error: unknown) => {
        if (!isCancellation(error)) throw error;
      },
    );
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

  private become(state: OrderState): void {
    const before = this.state;
    this.state = state;
    if (state.busy === null) this.releasing = undefined;
    setCurrentDetails(currentDetails(state));
    if (before.status !== state.status || before.disputeCount !== state.disputeCount) {
      upsertSearchAttributes([
        { key: { name: 'OrderStatus', type: 'KEYWORD' }, value: state.status },
        { key: { name: 'DisputeCount', type: 'INT' }, value: state.disputeCount },
      ]);
    }
  }

  /** The state after everything that waits. A payment may turn out not to be in the book. */
  private expectedState({ counting }: { counting: 'payments' | 'no payment' }): OrderState {
    return this.requests.reduce((state, { command }) => {
      if (command.type === 'pay' && counting === 'no payment') return state;
      const decision = decideNow(state, command);
      return decision.outcome === 'refused' ? state : decision.state;
    }, this.state);
  }

  private nextRequest(): Request | undefined {
    return this.requests.find(({ command }) => !this.mustWait(command));
  }

  /** A dispute received in time may still stop a release: that release's outcome says so. */
  private mustWait(command: Command): boolean {
    return (
      this.state.busy?.kind === 'releasing' &&
      command.type === 'dispute' &&
      isReceivedInTime(this.state, command.receivedAtMs)
    );
  }

  private isRepeated({ requestId, gatewayPaymentId }: IncomingMessage): boolean {
    if (gatewayPaymentId !== undefined) return gatewayPaymentId === this.paidBy;
    return requestId !== undefined && this.recordedIds.has(requestId);
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

/** In a workflow of its own, which goes on after this one; it looks in the book what is true. */
async function giveBack(gatewayPaymentId: string): Promise<void> {
  try {
    await startChild(REFUND_SURPLUS_WORKFLOW, {
      workflowId: refundWorkflowId(gatewayPaymentId),
      args: [{ gatewayPaymentId }],
      parentClosePolicy: 'ABANDON',
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

function decideNow(state: OrderState, command: Command): Decision {
  return decide(state, command, Date.now());
}
