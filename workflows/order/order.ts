import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';
import type { OrderRecord, RecordedStep, RecordStepInput } from '../../src/contracts/activities.ts';
import type {
  EarlierRun,
  IncomingMessage,
  KnownStep,
  OrderInput,
  OrderMessageName,
  OrderResult,
} from '../../src/contracts/order-workflow.ts';
import type { PaymentRef } from '../../src/contracts/ids.ts';
import { MAX_KNOWN_STEPS } from '../../src/contracts/order-workflow.ts';
import type { Change, Command, Decision, OrderState, Step } from '../../src/domain/index.ts';
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
import { sendWebhook } from '../activities.ts';
import { startSurplusRefund } from '../refund-surplus-payment.ts';
import { OrderDatabase } from './database.ts';
import { showBlocked, showChange, showState } from './details.ts';
import type { GatewayResult, OrderEvent } from './events.ts';
import { GatewayOperation } from './gateway-operation.ts';
import { Inbox } from './inbox.ts';
import type { QueuedCommand } from './messages.ts';
import { commandOf, failureOf, notRecorded, paymentOf, recordedWith, refuse } from './messages.ts';

/** How many Signals and Updates one run takes: half of the server's limit. */
const MAX_MESSAGES = 1000;

/** How long after a cancel has failed at the gateway further cancels are refused like it. */
const AFTER_FAILED_CANCEL_MS = 5000;

/**
 * Applies one order's events, one at a time. The state changes only when a step is recorded: a
 * payment that turns out not to be captured never has to be undone, and two messages in one
 * activation cannot see half a change.
 *
 * A workflow task can be lost after its local activity has recorded a step, and the next task may
 * begin with another event. The step that the database has under a number counts: the order adopts
 * it. A database that was restored from a backup may have lost steps: the order writes them again.
 */
export class Order {
  readonly inbox = new Inbox();
  private readonly orderNumber: string;
  private state: OrderState;
  /** The latest steps, to write them again if the database loses them. */
  private steps: KnownStep[];
  private readonly database: OrderDatabase;
  private readonly gateway: GatewayOperation;
  /** The commands whose steps are recorded: a repeat of one changes nothing. */
  private readonly commandIds = new Set<string>();
  /** The capture that made the order PAID: a repeat of its message is no surplus. */
  private paidBy: PaymentRef | null;
  /** The cancel that waits until the payment session is closed. */
  private waitingCancel: QueuedCommand | undefined;
  /** When a cancel last failed because the gateway could not be reached. */
  private cancelFailedAtMs = Number.NEGATIVE_INFINITY;
  /** False until the database was read: it may have more steps. */
  private hasBegun = false;
  /** The webhooks that have not settled. */
  private readonly deliveries = new Set<string>();

  constructor({ orderNumber, terms, createdAtMs, paymentLinkExpiresAtMs, earlier }: OrderInput) {
    const created = createOrder(terms, createdAtMs, paymentLinkExpiresAtMs);
    this.orderNumber = orderNumber;
    this.state = earlier?.state ?? created.state;
    this.steps = earlier?.steps ?? [{ step: created.step, commandId: null, payment: null }];
    this.paidBy = earlier?.paidBy ?? null;
    for (const { commandId } of this.steps) if (commandId !== null) this.commandIds.add(commandId);
    this.database = new OrderDatabase(orderNumber, (isBlocked) =>
      isBlocked ? showBlocked(this.state) : showState(this.state),
    );
    this.gateway = new GatewayOperation(orderNumber, (result) =>
      this.inbox.push({ kind: 'gateway', result }),
    );
  }

  /** Reads the database before the first event of every run. */
  async begin(): Promise<void> {
    showState(this.state);
    await this.catchUp();
    this.hasBegun = true;
    this.gateway.follow(this.state);
  }

  /** True when the status is final, every message was answered and every webhook has settled. */
  isComplete(): boolean {
    const { inbox, deliveries, state } = this;
    return isFinal(state.status) && inbox.isEmpty() && deliveries.size === 0;
  }

  result(): OrderResult {
    const { status, disputeCount, eventSequence } = this.state;
    return { status, disputeCount, webhookEvents: eventSequence, run: this.run() };
  }

  /**
   * True when the order should continue as new and nothing is pending that the next run would miss.
   * The server accepts 2,000 Updates in one run and refuses every further one.
   */
  async isRunFull(): Promise<boolean> {
    const isFull = this.inbox.messages() >= MAX_MESSAGES || workflowInfo().continueAsNewSuggested;
    if (!isFull || this.waitingCancel || !this.inbox.isEmpty()) return false;
    // Handlers whose Updates were completed just now must finish first.
    await condition(() => allHandlersFinished() || !this.inbox.isEmpty());
    return this.inbox.isEmpty();
  }

  /** The input of the next run, which schedules this run's pending activities again. */
  nextRun(input: OrderInput): OrderInput {
    return { ...input, earlier: this.run() };
  }

  private run(): EarlierRun {
    const { state, steps, paidBy } = this;
    return { state, steps, paidBy };
  }

  /** No deadline passes while a gateway operation is pending. */
  nextEvent(): Promise<OrderEvent> {
    const { pendingOperation, deadline } = this.state;
    const isWaiting = pendingOperation === null && this.gateway.releasing() === null;
    return this.inbox.next(isWaiting ? deadline : null);
  }

  async apply(event: OrderEvent): Promise<void> {
    await this.applyNow(event);
    this.inbox.remove(event);
  }

  /**
   * Refuses a command that would be illegal after the queued events.
   *
   * @throws ApplicationFailure with the lifecycle's exact message
   */
  validate(name: OrderMessageName, message: IncomingMessage = {}): void {
    const queued = { command: commandOf(name, message), message };
    if (this.isRepeated(queued) || this.mayBeBehind(queued)) return;
    const { command } = queued;
    // A run accepts a limited number of Updates, which an outage would use up.
    if (command.type === 'cancel' && Date.now() < this.cancelFailedAtMs + AFTER_FAILED_CANCEL_MS) {
      throw failureOf(new DomainError('GATEWAY_UNAVAILABLE', GATEWAY_AWAY));
    }
    const state = this.expectedState({ counting: 'no payment' });
    if (decideNow(state, command).outcome !== 'refused') return;
    const afterPayment = decideNow(this.expectedState({ counting: 'payments' }), command);
    if (afterPayment.outcome === 'refused') throw failureOf(this.refusalOf(state, command));
  }

  private async applyNow(event: OrderEvent | GatewayResult): Promise<void> {
    switch (event.kind) {
      case 'command':
        return this.carryOut(event.queued);
      case 'recorded':
        return this.adopt(...event.recorded);
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

  /** Applies a command. While the database turns out to have another step, it decides again. */
  private async carryOut(queued: QueuedCommand): Promise<void> {
    // The release activity may have recorded RELEASE_STARTED already.
    if (this.mayBeBehind(queued)) await this.catchUp();
    for (;;) {
      if (this.isRepeated(queued)) return queued.answer?.resolve();
      if (this.isBeingClosedFor(queued)) return void (this.waitingCancel = queued);
      const decision = decideNow(this.state, queued.command);
      if (decision.outcome === 'refused') return this.refuse(queued);
      if (decision.step.kind === 'RELEASE_STARTED') return this.startRelease(decision.state);
      const asked = this.stepToRecord(queued, decision);
      const result = await this.database.record(asked);
      switch (result.outcome) {
        case 'recorded':
          this.adopt(result.recorded);
          if (isSame(result.recorded, asked) && !this.isBeingClosedFor(queued)) {
            return queued.answer?.resolve();
          }
          break;
        case 'repeated':
          return queued.answer?.resolve();
        case 'row_behind':
          await this.rewrite(result.stepNumber);
          break;
        default:
          return refuse(queued, notRecorded(queued, result));
      }
    }
  }

  private stepToRecord(queued: QueuedCommand, { state, step, requires }: Change): RecordStepInput {
    const { orderNumber } = this;
    switch (step.kind) {
      case 'CLOSING_PAYMENT': {
        const { pendingOperation } = state;
        const closed = decideNow({ ...this.state, pendingOperation }, { type: 'sessionClosed' });
        if (closed.outcome === 'refused') throw closed.error;
        return { orderNumber, step, ifNoSessionOpen: closed.step, ...recordedWith(queued) };
      }
      case 'ORDER_CANCELLED':
        return { orderNumber, step, ...recordedWith(this.waitingCancel ?? queued) };
      default:
        return { orderNumber, step, ...recordedWith(queued), ...(requires && { requires }) };
    }
  }

  /** Adopts steps that the database has. */
  private adopt(...recorded: (KnownStep & Partial<RecordedStep>)[]): void {
    const before = this.state;
    for (const { deliveryId, ...known } of recorded) {
      const { step, commandId, payment } = known;
      if (step.number <= this.state.stepNumber) continue;
      this.state = stateAfter(this.state, step);
      this.steps = [...this.steps, known].slice(-MAX_KNOWN_STEPS);
      if (commandId !== null) this.commandIds.add(commandId);
      if (payment !== null) this.paidBy = payment;
      if (deliveryId) this.deliver(deliveryId, step.kind);
    }
    if (this.state === before) return;
    this.gateway.follow(this.state);
    if (this.state.pendingOperation === null) this.answerWaitingCancel();
    showChange(this.state, before);
  }

  /**
   * Reconciles the workflow with the database: at a number that both have, the database's step
   * counts; the side with fewer steps takes over the rest.
   */
  private async catchUp(): Promise<void> {
    let record = await this.database.read(this.state.stepNumber);
    if (record?.common && !this.hasTheSame(record.common)) {
      this.forget();
      record = await this.database.read(0);
    }
    // The order has no row; an alert was raised.
    if (record === null) return;
    this.adopt(...record.steps);
    if (record.stepNumber < this.state.stepNumber) await this.rewrite(record.stepNumber);
    this.deliverAll(record.deliveries);
  }

  private hasTheSame(step: Step): boolean {
    const own = this.steps.find((known) => known.step.number === step.number)?.step;
    return own === undefined || (own.kind === step.kind && own.atMs === step.atMs);
  }

  /** Drops all steps, to adopt those of the database. */
  private forget(): void {
    this.state = { ...this.state, stepNumber: 0, eventSequence: 0 };
    this.steps = [];
  }

  /** Writes the steps again that a restored database has lost. */
  private async rewrite(afterStep: number): Promise<void> {
    const lost = this.steps.filter(({ step }) => step.number > afterStep);
    this.deliverAll(await this.database.rewrite(lost));
  }

  private startRelease(releasing: OrderState): void {
    showState(releasing);
    this.gateway.startRelease(this.state);
  }

  /** Sends a webhook without waiting for it. */
  private deliver(deliveryId: string, summary: string): void {
    if (this.deliveries.has(deliveryId)) return;
    this.deliveries.add(deliveryId);
    const settled = () => {
      this.deliveries.delete(deliveryId);
      // Only a final order waits for this; earlier, an event would restart the deadline's timer.
      if (isFinal(this.state.status)) this.inbox.push({ kind: 'deliverySettled' });
    };
    // A rejection means FAILED after the fifth attempt, which the database has recorded.
    void sendWebhook
      .executeWithOptions({ summary: `Webhook ${summary}` }, [{ deliveryId }])
      .then(settled, settled);
  }

  private deliverAll(deliveries: OrderRecord['deliveries']): void {
    for (const { deliveryId, kind } of deliveries) this.deliver(deliveryId, kind);
  }

  private async refuse(queued: QueuedCommand): Promise<void> {
    const payment = paymentOf(queued);
    if (payment) await startSurplusRefund(payment);
    refuse(queued, this.refusalOf(this.state, queued.command));
  }

  /** A release counts as pending from its start, before RELEASE_STARTED is recorded. */
  private refusalOf({ status, pendingOperation }: OrderState, { type }: Command): DomainError {
    return refusalOf(
      { status, pendingOperation: pendingOperation ?? this.gateway.releasing() },
      type,
    );
  }

  private answerWaitingCancel(): void {
    const { waitingCancel, state } = this;
    this.waitingCancel = undefined;
    if (!waitingCancel) return;
    if (state.status === 'CANCELLED') return waitingCancel.answer?.resolve();
    const isUnchanged = state.status === 'ACCEPTED';
    if (isUnchanged) this.cancelFailedAtMs = Date.now();
    const error = isUnchanged
      ? new DomainError('GATEWAY_UNAVAILABLE', GATEWAY_AWAY)
      : new DomainError('INVALID_STATE', REFUSALS.cancel);
    refuse(waitingCancel, error);
  }

  /**
   * The state after the queued commands, of which some may still be refused: a payment that was not
   * captured, a settlement that was not recorded, a command without an id that needs a row.
   */
  private expectedState({ counting }: { counting: 'payments' | 'no payment' }): OrderState {
    return this.inbox.commands().reduce((state, { command, message }) => {
      if (command.type === 'pay' && counting === 'no payment') return state;
      const decision = decideNow(state, command);
      if (decision.outcome === 'refused') return state;
      const needsCommandId = decision.requires?.includes('command_recorded');
      const needsSettlement = decision.requires?.includes('settlement_recorded');
      const mayBeRefused = needsSettlement || (needsCommandId && message.commandId === undefined);
      return mayBeRefused ? state : decision.state;
    }, this.state);
  }

  private mayBeBehind({ command }: QueuedCommand): boolean {
    const isReleaseUnknown =
      this.state.pendingOperation === null && this.gateway.releasing() !== null;
    if (!this.hasBegun || this.inbox.isCatchUpRequested()) return true;
    return isSettling(command) && isReleaseUnknown;
  }

  private isRepeated(queued: QueuedCommand): boolean {
    const { command, message } = queued;
    const { commandId } = message;
    if (command.type === 'pay') return isSamePayment(paymentOf(queued), this.paidBy);
    return commandId !== undefined && this.commandIds.has(commandId);
  }

  /** True for a cancel that only waits until the payment session is closed. */
  private isBeingClosedFor({ command }: QueuedCommand): boolean {
    const { pendingOperation } = this.state;
    const isForCancel = pendingOperation?.kind === 'closing' && pendingOperation.cause === 'cancel';
    return command.type === 'cancel' && isForCancel && this.waitingCancel === undefined;
  }
}

/** True when the recorded step is the one that was asked for, apart from its time. */
function isSame({ step, commandId, payment }: RecordedStep, asked: RecordStepInput) {
  const isClosing = step.kind === 'CLOSING_PAYMENT';
  const kinds = [asked.step.kind, asked.ifNoSessionOpen?.kind];
  return (
    kinds.includes(step.kind) &&
    // The id of a cancel belongs to the step that answers it.
    commandId === (isClosing ? null : (asked.commandId ?? null)) &&
    (isSamePayment(payment, asked.payment) || (payment === null && asked.payment === undefined))
  );
}

/** False also when there is no payment to compare. */
function isSamePayment(one?: PaymentRef | null, other?: PaymentRef | null): boolean {
  if (!one || !other) return false;
  return one.gateway === other.gateway && one.gatewayPaymentId === other.gatewayPaymentId;
}

function isSettling({ type }: Command): boolean {
  return type === 'settleReleased' || type === 'settleRefunded';
}

function decideNow(state: OrderState, command: Command): Decision {
  return decide(state, command, Date.now());
}
