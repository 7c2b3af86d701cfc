import { log } from '@temporalio/workflow';
import type { IncomingMessage } from '../../src/contracts/order-workflow.ts';
import type { PendingOperation, Command, OrderState } from '../../src/domain/index.ts';
import { closeOnce, closeEventually, refundPayment, releaseFunds } from '../activities.ts';
import type { GatewayResult } from './events.ts';

/**
 * The one gateway call that an order has pending: closing its payment session, releasing or
 * refunding its money. It runs concurrently, and the order applies its result as an event.
 *
 * A call that is no longer needed is not cancelled: each try reads the database first, and
 * cancelling an activity that has just ended fails the workflow task.
 */
export class GatewayOperation {
  private readonly orderNumber: string;
  private readonly onResult: (result: GatewayResult) => void;
  private running: { kind: PendingOperation['kind'] } | undefined;

  constructor(orderNumber: string, onResult: (result: GatewayResult) => void) {
    this.orderNumber = orderNumber;
    this.onResult = onResult;
  }

  /** A release runs before the order's state shows it: see {@link startRelease}. */
  releasing(): PendingOperation | null {
    return this.running?.kind === 'releasing' ? { kind: 'releasing' } : null;
  }

  /** Starts the operation that the order's state requires, and drops one that it does not. */
  follow(state: OrderState): void {
    const { pendingOperation } = state;
    if (pendingOperation === null) this.end();
    else if (this.running?.kind !== pendingOperation.kind)
      this.start(pendingOperation.kind, this.call(pendingOperation, state));
  }

  /** Starts a release, whose activity records RELEASE_STARTED unless a dispute is waiting. */
  startRelease(state: OrderState): void {
    this.start('releasing', this.release(state));
  }

  /** Drops the operation: its result was applied, or is no longer needed. */
  end(): void {
    this.running = undefined;
  }

  private start(kind: PendingOperation['kind'], result: Promise<GatewayResult>): void {
    const operation = { kind };
    this.running = operation;
    void result.then((known) => {
      if (this.running === operation) this.onResult(known);
    });
  }

  private call(pendingOperation: PendingOperation, state: OrderState): Promise<GatewayResult> {
    switch (pendingOperation.kind) {
      case 'closing':
        return this.close(pendingOperation.cause === 'cancel' ? closeOnce : closeEventually);
      case 'releasing':
        return this.release(state);
      case 'refunding':
        return this.refund(state);
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

  private async release(state: OrderState): Promise<GatewayResult> {
    const { orderNumber } = this;
    const result = await releaseFunds.executeWithOptions({ summary: 'Release the funds' }, [
      { orderNumber, state },
    ]);
    switch (result.outcome) {
      case 'recorded':
        return { kind: 'recorded', recorded: result.recorded };
      case 'diverged':
        return { kind: 'catchUp' };
      case 'disputed': {
        const { commandId, receivedAtMs } = result.dispute;
        return commandResult({ type: 'dispute', receivedAtMs }, { commandId });
      }
    }
  }

  private async refund(state: OrderState): Promise<GatewayResult> {
    const { orderNumber } = this;
    const result = await refundPayment.executeWithOptions({ summary: 'Refund the buyer' }, [
      { orderNumber, state },
    ]);
    if (result.outcome === 'diverged') return { kind: 'catchUp' };
    return { kind: 'recorded', recorded: result.recorded };
  }
}

function commandResult(command: Command, message: IncomingMessage = {}): GatewayResult {
  return { kind: 'command', queued: { command, message } };
}
