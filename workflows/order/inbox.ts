import {
  allHandlersFinished,
  CancellationScope,
  condition,
  log,
  Trigger,
} from '@temporalio/workflow';
import type { WaitingDispute } from '../../src/contracts/activities.ts';
import type { IncomingMessage, OrderMessageName } from '../../src/contracts/order-workflow.ts';
import type { Command, Deadline, DomainError, OrderState } from '../../src/domain/index.ts';
import { decide } from '../../src/domain/index.ts';
import { deadlineSummary } from './details.ts';
import type { QueuedCommand } from './messages.ts';
import { commandOf } from './messages.ts';

/** An event that an order applies. One is applied at a time. */
export type OrderEvent =
  /** The command of a message, or of a deadline that has passed. */
  | { kind: 'command'; queued: QueuedCommand }
  /** The command that follows from the result of the pending gateway operation. */
  | { kind: 'gateway'; queued: QueuedCommand }
  /** The order reads its row: something waits there, or row and workflow may differ. */
  | { kind: 'wake' }
  /** A webhook of a final order was accepted, or is FAILED after its fifth attempt. */
  | { kind: 'webhookEnded' };

const DEADLINE_PASSED: OrderEvent = {
  kind: 'command',
  queued: { command: { type: 'expire' }, message: {} },
};

/** The events that an order has yet to apply, in order of arrival. */
export class Inbox {
  private readonly events: OrderEvent[] = [];
  /** The number of Signals and Updates that this run has received. */
  messageCount = 0;

  push(event: OrderEvent): void {
    this.events.push(event);
  }

  /** Queues a command that waits in the row. A repeat of a recorded command changes nothing. */
  command(command: Command, { commandId }: { commandId: string }): void {
    this.push({ kind: 'command', queued: { command, message: { commandId } } });
  }

  dispute({ commandId, receivedAtMs }: WaitingDispute): void {
    this.command({ type: 'dispute', receivedAtMs }, { commandId });
  }

  /** Queues a Signal. A malformed one is dropped here. An illegal one is refused after the events before it. */
  signal(name: OrderMessageName, message: IncomingMessage = {}): void {
    this.messageCount += 1;
    try {
      this.push({ kind: 'command', queued: { command: commandOf(name, message), message } });
    } catch (error) {
      log.warn('Signal dropped', { signal: name, reason: String(error) });
    }
  }

  /** Returns when the message's step is recorded, so that a GET directly afterwards reads it. */
  async update(name: OrderMessageName, message: IncomingMessage = {}): Promise<void> {
    this.messageCount += 1;
    // Handlers run in the root scope, which an operator's cancellation request cancels.
    await CancellationScope.nonCancellable(async () => {
      const answer = new Trigger<void>();
      const queued = { command: commandOf(name, message), message, answer };
      this.push({ kind: 'command', queued });
      await answer;
    });
  }

  /** Comes first, because an order may refuse a command only when it has every recorded step. */
  wake(): void {
    this.messageCount += 1;
    this.events.unshift({ kind: 'wake' });
  }

  hasWake(): boolean {
    return this.events.some(({ kind }) => kind === 'wake');
  }

  isEmpty(): boolean {
    return this.events.length === 0;
  }

  /**
   * The refusal of a command after the commands that are queued before it. Undefined when it is legal then. A queued
   * payment may turn out not to be captured: a command that is legal with it, or without it, is not refused yet.
   */
  refusalOf(command: Command, state: OrderState): DomainError | undefined {
    const queued = this.events.flatMap((event) => (event.kind === 'command' ? event.queued : []));
    const withoutPayments = queued.filter((one) => one.command.type !== 'pay');
    if (!refusalIn(stateAfterAll(queued, state), command)) return undefined;
    return refusalIn(stateAfterAll(withoutPayments, state), command);
  }

  /** Waits for an event or the deadline. @returns the oldest event, or the deadline's */
  async next(deadline: Deadline | null): Promise<OrderEvent> {
    for (;;) {
      const [event] = this.events;
      if (event) return event;
      if (!(await this.arrives(deadline))) return DEADLINE_PASSED;
    }
  }

  remove(applied: OrderEvent): void {
    const place = this.events.indexOf(applied);
    if (place >= 0) this.events.splice(place, 1);
  }

  /** @returns false when the deadline passed before anything arrived */
  private async arrives(deadline: Deadline | null): Promise<boolean> {
    const hasEvent = () => !this.isEmpty();
    if (deadline === null) {
      await condition(hasEvent);
      return true;
    }
    const timeoutMs = deadline.atMs - Date.now();
    // No timer, which would take an event, a workflow task and up to a second.
    if (timeoutMs <= 0) return this.arrivesNow();
    return condition(hasEvent, timeoutMs, { summary: deadlineSummary(deadline) });
  }

  /**
   * An Update that was answered just now completes first. Otherwise interceptors would change the order of the
   * commands, and traces could not be switched on or off while orders run.
   */
  private async arrivesNow(): Promise<boolean> {
    await condition(() => allHandlersFinished() || !this.isEmpty());
    return !this.isEmpty();
  }
}

function refusalIn(state: OrderState, command: Command): DomainError | undefined {
  const decision = decide(state, command, Date.now());
  return decision.outcome === 'refused' ? decision.error : undefined;
}

/**
 * Leaves out commands that the database may still refuse: a settlement, or a command without an id that needs a row.
 */
function stateAfterAll(queued: readonly QueuedCommand[], before: OrderState): OrderState {
  return queued.reduce((state, { command, message }) => {
    const decision = decide(state, command, Date.now());
    if (decision.outcome === 'refused') return state;
    const needsCommand = decision.requires?.includes('command_recorded');
    const needsSettlement = decision.requires?.includes('settlement_recorded');
    const mayBeRefused = needsSettlement || (needsCommand && message.commandId === undefined);
    return mayBeRefused ? state : decision.state;
  }, before);
}

const SHORTEST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 3_600_000;

/**
 * Delays the next try of a deadline whose step the database has just refused: a release may not begin yet, the
 * deadline has not passed by the database's clock, or a dispute or an answer that was received in time comes first.
 * The order stays as it is. A refused try makes no step.
 */
export class DeadlineDelay {
  private delayMs = 0;
  private notBeforeMs = Number.NEGATIVE_INFINITY;

  /** Begins a delay from now, twice as long as the previous one. */
  begin(): void {
    this.delayMs = Math.min(Math.max(2 * this.delayMs, SHORTEST_DELAY_MS), LONGEST_DELAY_MS);
    this.notBeforeMs = Date.now() + this.delayMs;
  }

  end(): void {
    this.delayMs = 0;
    this.notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  /** The deadline, or the end of the delay if that is later. */
  applyTo(deadline: Deadline | null): Deadline | null {
    return deadline && { ...deadline, atMs: Math.max(deadline.atMs, this.notBeforeMs) };
  }
}
