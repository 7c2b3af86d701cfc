import { log } from '@temporalio/workflow';
import type { MoveFundsResult } from '../../src/contracts/activities.ts';
import type { IncomingMessage } from '../../src/contracts/order-workflow.ts';
import type { Command, OrderState, PendingOperation } from '../../src/domain/index.ts';
import { SETTLE_COMMANDS } from '../../src/domain/index.ts';
import { closeOnce, closeEventually, refundPayment, releaseFunds } from '../activities.ts';
import type { QueuedCommand } from './messages.ts';

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
      if (result.outcome === 'closed') return queued({ type: 'sessionClosed' });
      return queued({ type: 'pay' }, result.payment);
    } catch (error) {
      log.warn('The payment session could not be closed', { reason: String(error) });
      return queued({ type: 'closeFailed' });
    }
  }
}

/** @param moved the command if the gateway has moved the money, and not an operator */
function movedBy(result: MoveFundsResult, moved: Command): QueuedCommand {
  if (result.outcome === 'moved') return queued(moved);
  const { commandId, outcome } = result.settlement;
  return queued({ type: SETTLE_COMMANDS[outcome] }, { commandId });
}

function queued(command: Command, message: IncomingMessage = {}): QueuedCommand {
  return { command, message };
}
