import type { RecordedStep, RecordStepInput } from '../../src/contracts/activities.ts';
import type {
  IncomingMessage,
  OrderInput,
  OrderMessageName,
  OrderResult,
} from '../../src/contracts/order-workflow.ts';
import type { Change, Command, Decision, OrderState } from '../../src/domain/index.ts';
import {
  createOrder,
  decide,
  DomainError,
  GATEWAY_AWAY,
  isFinal,
  refusalOf,
  REFUSALS,
  stateAfter,
} from '../../src/domain/index.ts';
import { beginOrder, findStep, recordStep, sendWebhook } from '../activities.ts';
import { startSurplusRefund } from '../refund-surplus-payment.ts';
import { showChange, showState } from './details.ts';
import type { GatewayResult, OrderEvent } from './events.ts';
import { GatewayOperation } from './gateway-operation.ts';
import { Inbox } from './inbox.ts';
import type { Request } from './messages.ts';
import { commandOf, failureOf, notRecorded, recordedWith, refuse } from './messages.ts';

/**
 * One order at work. Events are applied one at a time, and the state changes only when its step is
 * recorded: so a payment that turns out not to be captured never has to be undone, and two messages
 * in one activation cannot see half a change.
 *
 * A workflow task can be lost after its local activity has recorded a step, and the next one may
 * begin with something else. What the database has under a step's number has happened: it is adopted.
 */
export class Order {
  readonly inbox = new Inbox();
  private readonly orderNumber: string;
  private state: OrderState;
  private readonly gateway: GatewayOperation;
  /** Requests whose step is recorded: hearing of one again changes nothing. */
  private readonly requestIds = new Set<string>();
  /** The capture that made the order PAID: hearing of it again is no surplus. */
  private paidBy: string | undefined;
  /** The cancel that waits for the payment session to be closed. */
  private waitingCancel: Request | undefined;
  private pendingDeliveries = 0;

  constructor({ orderNumber, terms, createdAtMs, paymentLinkExpiresAtMs }: OrderInput) {
    this.orderNumber = orderNumber;
    this.state = createOrder(terms, createdAtMs, paymentLinkExpiresAtMs).state;
    this.gateway = new GatewayOperation(orderNumber, (result) =>
      this.inbox.push({ kind: 'gateway', result }),
    );
  }

  async begin(): Promise<void> {
    const { orderNumber } = this;
    showState(this.state);
    const { deliveryId } = await beginOrder.executeWithOptions({ summary: 'ORDER_CREATED' }, [
      { orderNumber },
    ]);
    if (deliveryId !== null) this.deliver(deliveryId, 'ORDER_CREATED');
  }

  /** True when the status is final, every message is answered and every webhook settled. */
  isComplete(): boolean {
    const { inbox, pendingDeliveries, state } = this;
    return isFinal(state.status) && inbox.isEmpty() && pendingDeliveries === 0;
  }

  result(): OrderResult {
    const { status, disputeCount, eventSequence } = this.state;
    return { status, disputeCount, webhookEvents: eventSequence };
  }

  /** No deadline passes while the gateway is at work. */
  nextEvent(): Promise<OrderEvent> {
    const { busy, deadline } = this.state;
    const isWaiting = busy === null && this.gateway.releasing() === null;
    return this.inbox.next(isWaiting ? deadline : null);
  }

  async apply(event: OrderEvent): Promise<void> {
    await this.applyNow(event);
    this.inbox.remove(event);
  }

  /**
   * Refuses what would be illegal after everything that already waits.
   *
   * @throws ApplicationFailure with the lifecycle's exact message
   */
  validate(name: OrderMessageName, message: IncomingMessage = {}): void {
    const request = { command: commandOf(name, message), message };
    if (this.isRepeated(request) || this.mayBeBehind(request)) return;
    const { command } = request;
    const state = this.expectedState({ counting: 'no payment' });
    if (decideNow(state, command).outcome !== 'refused') return;
    const afterPayment = decideNow(this.expectedState({ counting: 'payments' }), command);
    if (afterPayment.outcome === 'refused') throw failureOf(this.refusalOf(state, command));
  }

  private async applyNow(event: OrderEvent | GatewayResult): Promise<void> {
    switch (event.kind) {
      case 'request':
        return this.carryOut(event.request);
      case 'recorded':
        return this.adopt(event.recorded);
      case 'gateway':
        this.gateway.end();
        await this.applyNow(event.result);
        return this.gateway.follow(this.state);
      case 'catchUp':
        return this.catchUp();
      case 'deliverySettled':
        return;
    }
  }

  /** Decides again as long as the database turns out to have gone on with another step. */
  private async carryOut(request: Request): Promise<void> {
    // A release records its own beginning, of which this workflow may not know yet.
    if (this.mayBeBehind(request)) await this.catchUp();
    for (;;) {
      if (this.isRepeated(request)) return request.answer?.resolve();
      if (this.isBeingClosedFor(request)) return void (this.waitingCancel = request);
      const decision = decideNow(this.state, request.command);
      if (decision.outcome === 'refused') return this.refuse(request);
      if (decision.step.kind === 'RELEASE_STARTED') return this.startRelease(decision.state);
      const asked = this.stepToRecord(request, decision);
      const result = await recordStep.executeWithOptions({ summary: asked.step.kind }, [asked]);
      if (result.outcome !== 'recorded') return refuse(request, notRecorded(request, result));
      this.adopt(result.recorded);
      if (isSame(result.recorded, asked) && !this.isBeingClosedFor(request)) {
        return request.answer?.resolve();
      }
    }
  }

  private stepToRecord(request: Request, { state, step, requires }: Change): RecordStepInput {
    const { orderNumber } = this;
    switch (step.kind) {
      case 'CLOSING_PAYMENT': {
        const { busy } = state;
        const closed = decideNow({ ...this.state, busy }, { type: 'sessionClosed' });
        if (closed.outcome === 'refused') throw closed.error;
        return { orderNumber, step, ifNoSessionOpen: closed.step, ...recordedWith(request) };
      }
      case 'ORDER_CANCELLED':
        return { orderNumber, step, ...recordedWith(this.waitingCancel ?? request) };
      default:
        return { orderNumber, step, ...recordedWith(request), ...(requires && { requires }) };
    }
  }

  /** Takes over a step that the database has, whether this workflow asked for it or not. */
  private adopt({ step, requestId, gatewayPaymentId, deliveryId }: RecordedStep): void {
    if (step.number <= this.state.stepNumber) return;
    const before = this.state;
    this.state = stateAfter(before, step);
    if (requestId !== null) this.requestIds.add(requestId);
    if (gatewayPaymentId !== null) this.paidBy = gatewayPaymentId;
    if (deliveryId !== null) this.deliver(deliveryId, step.kind);
    this.gateway.follow(this.state);
    if (this.state.busy === null) this.answerWaitingCancel();
    showChange(this.state, before);
  }

  private async catchUp(): Promise<void> {
    const { orderNumber } = this;
    for (;;) {
      const stepNumber = this.state.stepNumber + 1;
      const found = await findStep({ orderNumber, stepNumber });
      if (found === null) return;
      this.adopt(found);
    }
  }

  private startRelease(releasing: OrderState): void {
    showState(releasing);
    this.gateway.startRelease(this.state);
  }

  /** A webhook runs beside the order, never in its way. */
  private deliver(deliveryId: string, summary: string): void {
    this.pendingDeliveries += 1;
    const settled = () => {
      this.pendingDeliveries -= 1;
      // Before the end nobody waits for it, and an event would start the deadline's timer anew.
      if (isFinal(this.state.status)) this.inbox.push({ kind: 'deliverySettled' });
    };
    // Rejected means FAILED after the fifth attempt: the database says so, and the order goes on.
    void sendWebhook
      .executeWithOptions({ summary: `Webhook ${summary}` }, [{ deliveryId }])
      .then(settled, settled);
  }

  private async refuse(request: Request): Promise<void> {
    const { command, message } = request;
    if (command.type === 'pay' && message.gatewayPaymentId !== undefined) {
      await startSurplusRefund(message.gatewayPaymentId);
    }
    refuse(request, this.refusalOf(this.state, command));
  }

  /** A release has begun for whoever asks, though its beginning may not be recorded yet. */
  private refusalOf({ status, busy }: OrderState, { type }: Command): DomainError {
    return refusalOf({ status, busy: busy ?? this.gateway.releasing() }, type);
  }

  private answerWaitingCancel(): void {
    const { waitingCancel, state } = this;
    this.waitingCancel = undefined;
    if (!waitingCancel) return;
    if (state.status === 'CANCELLED') return waitingCancel.answer?.resolve();
    const isUnchanged = state.status === 'ACCEPTED';
    const error = isUnchanged
      ? new DomainError('GATEWAY_UNAVAILABLE', GATEWAY_AWAY)
      : new DomainError('INVALID_STATE', REFUSALS.cancel);
    refuse(waitingCancel, error);
  }

  /** The state after everything that waits. A payment may turn out not to be captured. */
  private expectedState({ counting }: { counting: 'payments' | 'no payment' }): OrderState {
    return this.inbox.requests().reduce((state, { command }) => {
      if (command.type === 'pay' && counting === 'no payment') return state;
      const decision = decideNow(state, command);
      return decision.outcome === 'refused' ? state : decision.state;
    }, this.state);
  }

  private mayBeBehind({ command }: Request): boolean {
    const isReleaseUnknown = this.state.busy === null && this.gateway.releasing() !== null;
    return this.inbox.isCatchUpRequested() || (isSettling(command) && isReleaseUnknown);
  }

  private isRepeated({ command, message: { requestId, gatewayPaymentId } }: Request): boolean {
    if (command.type === 'pay') return gatewayPaymentId === this.paidBy;
    return requestId !== undefined && this.requestIds.has(requestId);
  }

  /** True for a cancel that has only to wait until the payment session is closed. */
  private isBeingClosedFor({ command }: Request): boolean {
    const { busy } = this.state;
    const isForCancel = busy?.kind === 'closing' && busy.because === 'cancel';
    return command.type === 'cancel' && isForCancel && this.waitingCancel === undefined;
  }
}

/** True when what was asked for is what the database has: only its time may differ. */
function isSame({ step, requestId, gatewayPaymentId }: RecordedStep, asked: RecordStepInput) {
  const isClosing = step.kind === 'CLOSING_PAYMENT';
  const kinds = [asked.step.kind, asked.ifNoSessionOpen?.kind];
  return (
    kinds.includes(step.kind) &&
    // The id of a cancel belongs to the step that answers it.
    requestId === (isClosing ? null : (asked.requestId ?? null)) &&
    gatewayPaymentId === (asked.gatewayPaymentId ?? null)
  );
}

function isSettling({ type }: Command): boolean {
  return type === 'settleReleased' || type === 'settleRefunded';
}

function decideNow(state: OrderState, command: Command): Decision {
  return decide(state, command, Date.now());
}
