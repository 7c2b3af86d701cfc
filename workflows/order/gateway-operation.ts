import { log } from '@temporalio/workflow';
import type { MoveFundsResult } from '../../src/contracts/activities.ts';
import type { IncomingMessage } from '../../src/contracts/order-workflow.ts';
import type { Command, OrderState, PendingOperation } from '../../src/domain/index.ts';
import { DomainError, GATEWAY_AWAY, REFUSALS, SETTLE_COMMANDS } from '../../src/domain/index.ts';
import { closeOnce, closeEventually, refundPayment, releaseFunds } from '../activities.ts';
import type { QueuedCommand } from './messages.ts';
import { refuse } from './messages.ts';

/**
 * The one gateway call that an order has pending: closing its payment session, releasing or refunding its money. It
 * runs concurrently, and the order applies its result as a command.
 *
 * A call that is no longer needed is not cancelled, because each try reads the database first, and cancelling an
 * activity that has just ended fails the workflow task.
 */
export class GatewayOperation {
  private readonly orderNumber: string;
  private readonly onResult: (result: QueuedCommand) => void;
  private running: { kind: PendingOperation['kind'] } | undefined;

  constructor(orderNumber: string, onResult: (result: QueuedCommand) => void) {
    this.orderNumber = orderNumber;
    this.onResult = onResult;
  }

  /** Starts the operation that the order's state requires, and drops an operation that it does not require. */
  follow(state: OrderState): void {
    const { pendingOperation } = state;
    if (pendingOperation === null) return this.end();
    if (this.running?.kind === pendingOperation.kind) return;
    const operation = { kind: pendingOperation.kind };
    this.running = operation;
    void this.call(pendingOperation).then((result) => {
      if (this.running === operation) this.onResult(result);
    });
  }

  /** Drops the operation, because its result was applied or is no longer needed. */
  end(): void {
    this.running = undefined;
  }

  private async call(pendingOperation: PendingOperation): Promise<QueuedCommand> {
    const { orderNumber } = this;
    switch (pendingOperation.kind) {
      case 'closing':
        return this.close(pendingOperation.cause === 'cancel' ? closeOnce : closeEventually);
      case 'releasing': {
        const options = { summary: 'Release the funds' };
        const result = await releaseFunds.executeWithOptions(options, [{ orderNumber }]);
        return movedBy(result, { type: 'released' });
      }
      case 'refunding': {
        const { reason } = pendingOperation;
        const options = { summary: 'Refund the buyer' };
        const result = await refundPayment.executeWithOptions(options, [{ orderNumber, reason }]);
        return movedBy(result, { type: 'refunded' });
      }
    }
  }

  private async close(closePaymentSession: typeof closeOnce): Promise<QueuedCommand> {
    const { orderNumber } = this;
    try {
      const result = await closePaymentSession.executeWithOptions(
        { summary: 'Close the payment session' },
        [{ orderNumber }],
      );
      if (result.outcome === 'closed') return resultOf({ type: 'sessionClosed' });
      return resultOf({ type: 'pay' }, result.payment);
    } catch (error) {
      log.warn('The payment session could not be closed', { reason: String(error) });
      return resultOf({ type: 'closeFailed' });
    }
  }
}

/** @param moved the command if the gateway has moved the money, and not an operator */
function movedBy(result: MoveFundsResult, moved: Command): QueuedCommand {
  if (result.outcome === 'moved') return resultOf(moved);
  const { commandId, outcome } = result.settlement;
  return resultOf({ type: SETTLE_COMMANDS[outcome] }, { commandId });
}

function resultOf(command: Command, message: IncomingMessage = {}): QueuedCommand {
  return { command, message };
}

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
