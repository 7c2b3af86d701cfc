import { log } from '@temporalio/workflow';
import type { MoveFundsResult } from '../../src/contracts/activities.ts';
import type { IncomingMessage } from '../../src/contracts/order-workflow.ts';
import type { PendingOperation, Command, OrderState } from '../../src/domain/index.ts';
import { closeOnce, closeEventually, refundPayment, releaseFunds } from '../activities.ts';
import type { GatewayResult } from './events.ts';

/**
 * The one gateway call that an order has pending: closing its payment session, releasing or refunding its money. It
 * runs concurrently, and the order applies its result as an event.
 *
 * A call that is no longer needed is not cancelled, because each try reads the database first, and cancelling an
 * activity that has just ended fails the workflow task.
 */
export class GatewayOperation {
  private readonly orderNumber: string;
  private readonly onResult: (result: GatewayResult) => void;
  private running: { kind: PendingOperation['kind'] } | undefined;

  constructor(orderNumber: string, onResult: (result: GatewayResult) => void) {
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
    void this.call(pendingOperation, state).then((result) => {
      if (this.running === operation) this.onResult(result);
    });
  }

  /** Drops the operation, because its result was applied or is no longer needed. */
  end(): void {
    this.running = undefined;
  }

  private async call(
    pendingOperation: PendingOperation,
    state: OrderState,
  ): Promise<GatewayResult> {
    const input = { orderNumber: this.orderNumber, state };
    switch (pendingOperation.kind) {
      case 'closing':
        return this.close(pendingOperation.cause === 'cancel' ? closeOnce : closeEventually);
      case 'releasing':
        return resultOf(
          await releaseFunds.executeWithOptions({ summary: 'Release the funds' }, [input]),
        );
      case 'refunding':
        return resultOf(
          await refundPayment.executeWithOptions({ summary: 'Refund the buyer' }, [input]),
        );
    }
  }

  private async close(closePaymentSession: typeof closeOnce): Promise<GatewayResult> {
    const { orderNumber } = this;
    try {
      const result = await closePaymentSession.executeWithOptions(
        { summary: 'Close the payment session' },
        [{ orderNumber }],
      );
      if (result.outcome === 'closed') return commandResult({ type: 'sessionClosed' });
      return commandResult({ type: 'pay' }, result.payment);
    } catch (error) {
      log.warn('The payment session could not be closed', { reason: String(error) });
      return commandResult({ type: 'closeFailed' });
    }
  }
}

/** If the database has other steps, the order reads its row. A repeated call moves nothing twice. */
function resultOf(result: MoveFundsResult): GatewayResult {
  if (result.outcome === 'diverged') return { kind: 'wake' };
  return { kind: 'recorded', recorded: result.recorded };
}

function commandResult(command: Command, message: IncomingMessage = {}): GatewayResult {
  return { kind: 'command', queued: { command, message } };
}
