import { CancellationScope, condition, log, startChild, Trigger } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { RecordStepResult, WrittenStep } from '../src/contracts/activities.ts';
import { REFUND_SURPLUS_WORKFLOW, refundWorkflowId } from '../src/contracts/ids.ts';
import type {
  IncomingMessage,
  OrderInput,
  OrderMessageName,
} from '../src/contracts/order-workflow.ts';
import type { Command, Decision, OrderState } from '../src/domain/index.ts';
import { decide, DomainError, isFinal, isReceivedInTime, REFUSALS } from '../src/domain/index.ts';
import type { Outcome } from './gateway-phases.ts';
import { GatewayPhases } from './gateway-phases.ts';
import { deadlineSummary } from './order-details.ts';
import { OrderRecord } from './order-record.ts';
import type { Request } from './requests.ts';
import { commandOf, failureOf, recordedWith, refuse } from './requests.ts';

/** What must be in the book before a message about it, and is not. */
const NOT_IN_THE_BOOK = {
  payment_not_captured: 'The payment is not in the book as captured for this order',
  not_settled: 'No settlement is recorded for this order',
  session_open: 'A payment session is open',
  disputed: 'A dispute is waiting',
  too_early: 'The window is still open',
} as const satisfies Record<Exclude<RecordStepResult['outcome'], 'recorded'>, string>;

/**
 * One order at work: the messages that wait for their turn, and what is done about them.
 *
 * Messages are handled one at a time, and the state changes only when its step is in the book. So a
 * payment that turns out not to be in the book, or a session that turns out to be open, never has
 * to be undone, and two messages in one activation cannot see half a change.
 */
export class OrderProcess {
  readonly record: OrderRecord;
  private readonly phases: GatewayPhases;
  private readonly requests: Request[] = [];
  private readonly outcomes: Outcome[] = [];
  /** Somebody has reason to think that the book has gone on without this workflow. */
  private mayBeBehind = false;
  /** The capture that made the order PAID: hearing of it again is no surplus. */
  private paidBy: string | undefined;

  constructor({ orderNumber }: OrderInput, state: OrderState) {
    this.record = new OrderRecord(orderNumber, state, (written) => this.takenOver(written));
    this.phases = new GatewayPhases(orderNumber, this.record, {
      handle: (request) => this.handle(request),
      takeCancel: () => this.take(({ command }) => command.type === 'cancel'),
      handleLater: (outcome) => void this.outcomes.push(outcome),
    });
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
    return isFinal(this.record.state.status) && idle && !this.record.hasOpenDeliveries();
  }

  /** Handles the next thing that happens: an outcome, a message, or the deadline passing. */
  async handleNext(): Promise<void> {
    if (await this.deadlinePasses()) {
      return this.handle({ command: { type: 'expire' }, message: {} });
    }
    if (this.mayBeBehind) {
      this.mayBeBehind = false;
      return this.record.catchUp();
    }
    const outcome = this.outcomes.shift();
    if (outcome) return outcome();
    const request = this.nextRequest();
    if (!request) return;
    await this.handle(request);
    this.take((waiting) => waiting === request);
  }

  /** A step that this workflow did not write has happened all the same: whoever asked is told. */
  private takenOver({ step, requestId, gatewayPaymentId }: WrittenStep): void {
    const request = this.take(
      ({ message }) =>
        (requestId !== null && message.requestId === requestId) ||
        (gatewayPaymentId !== null && message.gatewayPaymentId === gatewayPaymentId),
    );
    if (gatewayPaymentId !== null) this.paid(gatewayPaymentId);
    this.phases.takeOver(step);
    request?.answer?.resolve();
  }

  private take(matches: (request: Request) => boolean): Request | undefined {
    const place = this.requests.findIndex(matches);
    return place < 0 ? undefined : this.requests.splice(place, 1)[0];
  }

  /** @returns true when the deadline came before anything else did */
  private async deadlinePasses(): Promise<boolean> {
    const ready = () =>
      this.mayBeBehind ||
      this.outcomes.length > 0 ||
      this.nextRequest() !== undefined ||
      this.isOver();
    const { busy, deadline } = this.record.state;
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
    while (result === 'overtaken' && !this.phases.isWaitingFor(request)) {
      result = await this.handleOnce(request);
    }
  }

  private async handleOnce(request: Request): Promise<'overtaken' | void> {
    const { command, message, answer } = request;
    if (this.isRepeated(message)) return answer?.resolve();
    const state = command.type === 'settle' ? this.phases.settlingState() : this.record.state;
    const decision = decideNow(state, command);
    if (decision.outcome === 'refused') {
      if (message.gatewayPaymentId !== undefined) await giveBack(message.gatewayPaymentId);
      return refuse(request, decision.error);
    }
    if (decision.outcome === 'busy') {
      return this.phases.begin(decision.busy, decision.state, request);
    }
    const result = await this.record.write(decision, {
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
    if (type === 'settle') this.phases.cancelCall();
    if (type === 'pay' && gatewayPaymentId !== undefined) this.paid(gatewayPaymentId);
  }

  private paid(gatewayPaymentId: string): void {
    this.paidBy = gatewayPaymentId;
    this.phases.endClosing(new DomainError('INVALID_STATE', REFUSALS.cancel));
  }

  /** The state after everything that waits. A payment may turn out not to be in the book. */
  private expectedState({ counting }: { counting: 'payments' | 'no payment' }): OrderState {
    return this.requests.reduce((state, { command }) => {
      if (command.type === 'pay' && counting === 'no payment') return state;
      const decision = decideNow(state, command);
      return decision.outcome === 'refused' ? state : decision.state;
    }, this.record.state);
  }

  private nextRequest(): Request | undefined {
    return this.requests.find(({ command }) => !this.mustWait(command));
  }

  /** A dispute received in time may still stop a release: that release's outcome says so. */
  private mustWait(command: Command): boolean {
    return (
      this.record.state.busy?.kind === 'releasing' &&
      command.type === 'dispute' &&
      isReceivedInTime(this.record.state, command.receivedAtMs)
    );
  }

  private isRepeated({ requestId, gatewayPaymentId }: IncomingMessage): boolean {
    if (gatewayPaymentId !== undefined) return gatewayPaymentId === this.paidBy;
    return this.record.has(requestId);
  }
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
