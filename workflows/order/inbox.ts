import {
  allHandlersFinished,
  CancellationScope,
  condition,
  log,
  Trigger,
} from '@temporalio/workflow';
import type { WaitingDispute } from '../../src/contracts/activities.ts';
import type { IncomingMessage, OrderMessageName } from '../../src/contracts/order-workflow.ts';
import type { Command, Deadline } from '../../src/domain/index.ts';
import { deadlineSummary } from './details.ts';
import type { OrderEvent } from './events.ts';
import type { QueuedCommand } from './messages.ts';
import { commandOf } from './messages.ts';

const DEADLINE_PASSED: OrderEvent = {
  kind: 'command',
  queued: { command: { type: 'expire' }, message: {} },
};

/** The events that an order has yet to apply, in order of arrival. */
export class Inbox {
  private readonly events: OrderEvent[] = [];
  private messageCount = 0;

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

  /** The number of Signals and Updates that this run has received. */
  messages(): number {
    return this.messageCount;
  }

  isEmpty(): boolean {
    return this.events.length === 0;
  }

  /** The commands that are not applied yet. */
  commands(): QueuedCommand[] {
    return this.events.flatMap((event) => (event.kind === 'command' ? event.queued : []));
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
