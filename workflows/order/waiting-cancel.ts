import type { OrderState } from '../../src/domain/index.ts';
import { DomainError, GATEWAY_AWAY, REFUSALS } from '../../src/domain/index.ts';
import type { QueuedCommand } from './messages.ts';
import { refuse } from './messages.ts';

/** After a cancel has failed at the gateway, further cancels are refused in the same way for this time. */
const AFTER_FAILURE_MS = 5000;

/** The cancel that is answered when the payment session is closed or cannot be closed. */
export class WaitingCancel {
  private queued: QueuedCommand | undefined;
  private failedAtMs = Number.NEGATIVE_INFINITY;

  isEmpty(): boolean {
    return this.queued === undefined;
  }

  /** The id of the cancel that waits for the closing. After a lost workflow task, only the closing's step has it. */
  commandId({ pendingOperation }: OrderState): string | undefined {
    const { commandId } = this.queued?.message ?? {};
    return (
      commandId ?? (pendingOperation?.kind === 'closing' ? pendingOperation.commandId : undefined)
    );
  }

  keep(queued: QueuedCommand): void {
    this.queued = queued;
  }

  /** True for a cancel that only waits until the payment session is closed. */
  mayWait({ command }: QueuedCommand, { pendingOperation }: OrderState): boolean {
    const isForCancel = pendingOperation?.kind === 'closing' && pendingOperation.cause === 'cancel';
    return command.type === 'cancel' && isForCancel && this.queued === undefined;
  }

  /** True for the repeat of the cancel for which the payment session is being closed, after its task was lost. */
  isAnsweredBy(queued: QueuedCommand, state: OrderState): boolean {
    return this.mayWait(queued, state) && queued.message.commandId === this.commandId(state);
  }

  /** A run accepts a limited number of Updates, which retried cancels would use up in an outage. */
  hasJustFailed(): boolean {
    return Date.now() < this.failedAtMs + AFTER_FAILURE_MS;
  }

  /** Answers the cancel when no operation is pending any more. */
  answer({ status }: OrderState): void {
    const { queued } = this;
    this.queued = undefined;
    if (!queued) return;
    if (status === 'CANCELLED') return queued.answer?.resolve();
    const isUnchanged = status === 'ACCEPTED';
    if (isUnchanged) this.failedAtMs = Date.now();
    refuse(queued, isUnchanged ? gatewayAway() : new DomainError('INVALID_STATE', REFUSALS.cancel));
  }
}

/** The refusal of a cancel whose payment session could not be closed. */
export function gatewayAway(): DomainError {
  return new DomainError('GATEWAY_UNAVAILABLE', GATEWAY_AWAY);
}
