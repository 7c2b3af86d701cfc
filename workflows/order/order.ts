import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';
import type { RecordStepInput } from '../../src/contracts/activities.ts';
import type {
  IncomingMessage,
  KnownStep,
  OrderInput,
  OrderMessageName,
  OrderResult,
} from '../../src/contracts/order-workflow.ts';
import type { Change, DomainError, OrderState } from '../../src/domain/index.ts';
import { decide, isFinal, SETTLE_COMMANDS } from '../../src/domain/index.ts';
import type { OrderDatabase } from '../activities.ts';
import { orderDatabase } from '../activities.ts';
import { startSurplusRefund } from '../refund-surplus-payment.ts';
import { showBlocked, showChange, showReleaseWaits, showState } from './details.ts';
import { gatewayAway, GatewayOperation, WaitingCancel } from './gateway-operation.ts';
import type { OrderEvent } from './inbox.ts';
import { DeadlineDelay, Inbox } from './inbox.ts';
import { isStepOf, KnownSteps } from './known-steps.ts';
import type { Unmet, QueuedCommand } from './messages.ts';
import { commandOf, failureOf, refusalOfUnmet, paymentOf, refuse } from './messages.ts';
import { Webhooks } from './webhooks.ts';

/** The number of Signals and Updates after which a run continues as new: half of the server's limit. */
const MAX_MESSAGES = 1000;

/**
 * Applies one order's events, one at a time. The state changes only when a step is recorded, so a payment that turns
 * out not to be captured never has to be undone, and two messages in one activation cannot see half a change.
 *
 * A workflow task can be lost after its local activity has recorded a step, and the next task may begin with another
 * event. The order then takes over the step that the database has under a number. A database that was restored from
 * a backup may have lost steps, which the order writes again.
 */
export class Order {
  readonly inbox = new Inbox();
  private readonly known: KnownSteps;
  private readonly database: OrderDatabase;
  private readonly gateway: GatewayOperation;
  private readonly webhooks: Webhooks;
  private readonly deadlineDelay = new DeadlineDelay();
  private readonly cancel = new WaitingCancel();
  private readonly orderNumber: string;
  /** False until the row was read, which may have more steps. */
  private hasBegun = false;

  constructor(input: OrderInput) {
    this.orderNumber = input.orderNumber;
    this.known = new KnownSteps(input);
    this.database = orderDatabase(input.orderNumber, (isBlocked) =>
      isBlocked ? showBlocked(this.state) : showState(this.state),
    );
    this.gateway = new GatewayOperation(input.orderNumber, (queued) =>
      this.inbox.push({ kind: 'gateway', queued }),
    );
    // Only a final order waits for its webhooks. Earlier, an event would restart the deadline's timer.
    this.webhooks = new Webhooks(() => {
      if (isFinal(this.state.status)) this.inbox.push({ kind: 'webhookEnded' });
    });
  }

  private get state(): OrderState {
    return this.known.state;
  }

  /** Reads the row before the first event of every run. */
  async begin(): Promise<void> {
    showState(this.state);
    await this.catchUp();
    this.hasBegun = true;
    this.gateway.follow(this.state);
  }

  /** True when the status is final, every message was answered and every webhook has ended. */
  isComplete(): boolean {
    return isFinal(this.state.status) && this.inbox.isEmpty() && this.webhooks.isEmpty();
  }

  result(): OrderResult {
    const { status, disputeCount, eventSequence } = this.state;
    return { status, disputeCount, webhookEvents: eventSequence, run: this.known.toRun() };
  }

  /**
   * True when the order should continue as new and nothing is pending that the next run would miss. The server
   * accepts 2,000 Updates in one run and refuses further ones.
   */
  async isRunFull(): Promise<boolean> {
    const isFull = this.inbox.messageCount >= MAX_MESSAGES || workflowInfo().continueAsNewSuggested;
    if (!isFull || !this.cancel.isEmpty() || !this.inbox.isEmpty()) return false;
    // Handlers whose Updates were completed just now must finish first.
    await condition(() => allHandlersFinished() || !this.inbox.isEmpty());
    return this.inbox.isEmpty();
  }

  /** The input of the next run, which schedules this run's pending activities again. */
  nextRun(input: OrderInput): OrderInput {
    return { ...input, earlier: this.known.toRun() };
  }

  /** No deadline passes while a gateway operation is pending. */
  nextEvent(): Promise<OrderEvent> {
    const { pendingOperation, deadline } = this.state;
    return this.inbox.next(pendingOperation ? null : this.deadlineDelay.applyTo(deadline));
  }

  async apply(event: OrderEvent): Promise<void> {
    // It stays in the inbox while it is applied, because a validator counts it.
    await this.applyNow(event);
    this.inbox.remove(event);
  }

  /**
   * Refuses a command that would be illegal after the queued events. Accepts it if the order may lack steps.
   *
   * @throws ApplicationFailure with the lifecycle's exact message
   */
  validate(name: OrderMessageName, message: IncomingMessage = {}): void {
    const queued = { command: commandOf(name, message), message };
    if (this.known.has(queued) || !this.hasBegun || this.inbox.hasWake()) return;
    if (this.cancel.isAnsweredBy(queued, this.state)) return;
    const refusal = this.inbox.refusalOf(queued.command, this.state);
    if (refusal) throw failureOf(refusal);
    const isCancel = queued.command.type === 'cancel';
    if (isCancel && this.cancel.hasJustFailed()) throw failureOf(gatewayAway());
  }

  private async applyNow(event: OrderEvent): Promise<void> {
    switch (event.kind) {
      case 'command':
        return this.carryOutCommand(event.queued);
      case 'gateway':
        this.gateway.end();
        await this.carryOutCommand(event.queued);
        // If its step was not recorded, the operation begins again.
        return this.gateway.follow(this.state);
      case 'wake':
        this.deadlineDelay.end();
        return this.catchUp();
      case 'webhookEnded':
        return;
    }
  }

  /** Carries out a command. If the database turns out to have another step, it decides again. */
  private async carryOutCommand(queued: QueuedCommand): Promise<void> {
    for (;;) {
      if (this.known.has(queued)) return queued.answer?.resolve();
      if (this.cancel.mayWait(queued, this.state)) return this.cancel.keep(queued);
      const decision = decide(this.state, queued.command, Date.now());
      if (decision.outcome === 'refused') return this.refused(queued, decision.error);
      const asked = this.stepToRecord(queued, decision);
      const result = await this.database.record(asked);
      switch (result.outcome) {
        case 'recorded':
          this.takeOver([result.recorded]);
          if (this.cancel.mayWait(queued, this.state)) return this.cancel.keep(queued);
          if (isStepOf(asked, result.recorded)) return queued.answer?.resolve();
          break;
        case 'repeated':
          return queued.answer?.resolve();
        case 'row_behind':
          await this.writeAgain(result.stepNumber);
          break;
        case 'deadline_late':
          return this.carryOutCommand({ command: { type: 'extend' }, message: {} });
        default:
          return this.notAllowed(queued, result);
      }
    }
  }

  private stepToRecord(
    queued: QueuedCommand,
    { step, ifNoSessionOpen, requires }: Change,
  ): RecordStepInput {
    const isCancelled = step.kind === 'ORDER_CANCELLED';
    const commandId = isCancelled ? this.cancel.commandId(this.state) : queued.message.commandId;
    const command = { commandId, commandType: queued.command.type };
    const { orderNumber } = this;
    return { orderNumber, step, ifNoSessionOpen, requires, ...command, payment: paymentOf(queued) };
  }

  /** The database's condition is not met: the command is refused, or the release waits. */
  private notAllowed(queued: QueuedCommand, result: Unmet): void {
    if (result.outcome === 'disputed') this.inbox.dispute(result.dispute);
    if (result.outcome === 'answered') {
      this.inbox.command({ type: result.answer.type }, result.answer);
    }
    if (result.outcome === 'release_waits') showReleaseWaits(this.state, result.cause);
    if (queued.command.type === 'expire') return this.deadlineDelay.begin();
    refuse(queued, refusalOfUnmet(queued, result));
  }

  /** Takes over steps that the database has, just recorded or not, and begins what follows from them. */
  private takeOver(steps: readonly KnownStep[]): void {
    const before = this.state;
    this.known.add(steps);
    if (this.state === before) return;
    this.deadlineDelay.end();
    this.gateway.follow(this.state);
    if (this.state.pendingOperation === null) this.cancel.answer(this.state);
    showChange(this.state, before);
  }

  /**
   * Reads the row. For a number that both have, the database's step is valid. The side with fewer steps takes over
   * the rest. A dispute and webhooks may wait in the row.
   */
  private async catchUp(): Promise<void> {
    let row = await this.database.read(this.state.stepNumber);
    if (row?.common && !this.known.agreesWith(row.common)) {
      this.known.clear();
      row = await this.database.read(0);
    }
    // The order has no row; an alert was raised.
    if (row === null) return;
    this.takeOver(row.steps);
    if (row.stepNumber < this.state.stepNumber) await this.writeAgain(row.stepNumber);
    this.webhooks.send(row.deliveries);
    const { dispute, settlement } = row;
    if (dispute) this.inbox.dispute(dispute);
    if (settlement) this.inbox.command({ type: SETTLE_COMMANDS[settlement.outcome] }, settlement);
  }

  /** Writes the steps again that a restored database has lost. */
  private writeAgain(afterStep: number): Promise<void> {
    return this.database.rewrite(this.known.after(afterStep));
  }

  /** Refuses a command. A payment that the order cannot take is refunded. */
  private async refused(queued: QueuedCommand, error: DomainError): Promise<void> {
    const payment = paymentOf(queued);
    if (payment) await startSurplusRefund(payment);
    refuse(queued, error);
  }
}
