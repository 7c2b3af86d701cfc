import { CancellationScope, isCancellation, log } from '@temporalio/workflow';
import type { Busy, OrderState, Step } from '../src/domain/index.ts';
import {
  announceBusy,
  DomainError,
  finishBusy,
  GATEWAY_AWAY,
  giveUpClosing,
} from '../src/domain/index.ts';
import { closeOnce, closePatiently, refundPayment, releaseFunds } from './activities.ts';
import type { OrderRecord } from './order-record.ts';
import type { Request } from './requests.ts';
import { recordedWith, refuse } from './requests.ts';

/** What the gateway answered: it is handled in turn, like a request. */
export type Outcome = () => Promise<void>;

const NOT_CLOSED = new DomainError('GATEWAY_UNAVAILABLE', GATEWAY_AWAY);

/** What the phases ask of the order that they are phases of. */
interface Order {
  handle(request: Request): Promise<void>;
  /** Takes a cancel out of those that wait, if there is one. */
  takeCancel(): Request | undefined;
  handleLater(outcome: Outcome): void;
}

/**
 * Closing, releasing, refunding: what the gateway has to do before an order is CANCELLED, COMPLETED
 * or REFUNDED. Its calls run beside the lifecycle and come back to it as outcomes.
 */
export class GatewayPhases {
  private readonly orderNumber: string;
  private readonly record: OrderRecord;
  private readonly order: Order;
  /** The request that waits for the payment session to be closed. */
  private closingRequest: Request | undefined;
  /** The call under way: an operator who settled outside ends it. */
  private call: CancellationScope | undefined;
  /** The order as RELEASE_STARTED left it, which the releasing activity itself records. */
  private releasing: OrderState | undefined;

  constructor(orderNumber: string, record: OrderRecord, order: Order) {
    this.orderNumber = orderNumber;
    this.record = record;
    this.order = order;
  }

  /** The state that a settlement outside finds: a release writes its beginning by itself. */
  settlingState(): OrderState {
    const { state } = this.record;
    return state.busy === null ? state : (this.releasing ?? state);
  }

  isWaitingFor(request: Request): boolean {
    return request === this.closingRequest;
  }

  /** The money has moved outside: nothing is left to ask the gateway for. */
  cancelCall(): void {
    this.call?.cancel();
  }

  /** Goes on with a phase whose step a lost workflow task wrote, or answers who waited for it. */
  takeOver({ kind, busy }: Step): void {
    if (kind === 'ORDER_CANCELLED') this.endClosing(null);
    if (kind === 'PAYMENT_STILL_OPEN') this.endClosing(NOT_CLOSED);
    if (kind === 'REFUND_STARTED' && busy?.kind === 'refunding') {
      this.run(() => this.refund(busy.reason));
    }
    if (kind === 'CLOSING_PAYMENT' && busy?.kind === 'closing') {
      // It has no request id, for it answers nobody; any cancel that waits will do.
      const request = busy.because === 'cancel' ? this.order.takeCancel() : undefined;
      this.startClosing(busy.because, request);
    }
  }

  async begin(busy: Busy, state: OrderState, request: Request): Promise<'overtaken' | void> {
    switch (busy.kind) {
      case 'closing':
        return this.beginClosing(busy.because, state, request);
      case 'releasing':
        this.record.become(state);
        return this.run(() => this.release(state));
      case 'refunding': {
        const announced = announceBusy(state, Date.now());
        const result = await this.record.write(announced, recordedWith(request));
        if (result.outcome === 'overtaken') return result.outcome;
        request.answer?.resolve();
        return this.run(() => this.refund(busy.reason));
      }
    }
  }

  /** With no payment session open there is nothing to close, and nobody to ask. */
  private async beginClosing(
    because: 'cancel' | 'expiry',
    state: OrderState,
    request: Request,
  ): Promise<'overtaken' | void> {
    const cancelled = finishBusy(state, Date.now());
    const recorded = recordedWith(request);
    const result = await this.record.write(cancelled, { ...recorded, unlessSessionOpen: true });
    if (result.outcome === 'overtaken') return result.outcome;
    if (result.outcome === 'recorded') return request.answer?.resolve();
    // Its request id belongs to the step that answers it.
    const forUpdate = request.answer !== undefined;
    const announced = await this.record.write(announceBusy(state, Date.now()), { forUpdate });
    if (announced.outcome === 'overtaken') return announced.outcome;
    this.startClosing(because, request);
  }

  private startClosing(because: 'cancel' | 'expiry', request: Request | undefined): void {
    this.closingRequest = request;
    this.run(() => this.close(because === 'cancel' ? closeOnce : closePatiently));
  }

  private async close(closePaymentSession: typeof closeOnce): Promise<Outcome> {
    const { orderNumber } = this;
    try {
      const result = await closePaymentSession.executeWithOptions(
        { summary: 'Close the payment session' },
        [{ orderNumber }],
      );
      return () => this.closed(result.outcome === 'paid' ? result.gatewayPaymentId : null);
    } catch (error) {
      log.warn('The payment session could not be closed', { reason: String(error) });
      return () => this.notClosed();
    }
  }

  private async closed(gatewayPaymentId: string | null): Promise<void> {
    // A payment may have come by itself meanwhile.
    if (this.record.state.busy?.kind !== 'closing') return;
    if (gatewayPaymentId !== null) {
      return this.order.handle({ command: { type: 'pay' }, message: { gatewayPaymentId } });
    }
    const message = this.closingRequest?.message ?? {};
    const result = await this.record.write(
      finishBusy(this.record.state, Date.now()),
      recordedWith({ message }),
    );
    if (result.outcome === 'overtaken') return this.closed(gatewayPaymentId);
    this.endClosing(null);
  }

  private async notClosed(): Promise<void> {
    if (this.record.state.busy?.kind !== 'closing') return;
    const result = await this.record.write(giveUpClosing(this.record.state, Date.now()));
    if (result.outcome === 'overtaken') return this.notClosed();
    this.endClosing(NOT_CLOSED);
  }

  /** Answers the cancel that waits, if there is one. */
  endClosing(error: DomainError | null): void {
    if (this.closingRequest && error) refuse(this.closingRequest, error);
    else this.closingRequest?.answer?.resolve();
    this.closingRequest = undefined;
  }

  private async release(state: OrderState): Promise<Outcome> {
    const { orderNumber } = this;
    const started = announceBusy(state, Date.now());
    const windowEndedAtMs = state.deadline?.atMs ?? Date.now();
    this.releasing = started.state;
    const result = await releaseFunds.executeWithOptions({ summary: 'Release the funds' }, [
      { orderNumber, started: started.step, windowEndedAtMs },
    ]);
    if (result.outcome === 'released') return () => this.finish(started.state);
    this.releasing = undefined;
    if (result.outcome === 'overtaken') {
      const { written, deliveryId } = result;
      return async () => this.record.takeOver(written, deliveryId);
    }
    const { requestId, receivedAtMs } = result.dispute;
    return async () => {
      this.record.become({ ...state, busy: null });
      await this.order.handle({
        command: { type: 'dispute', receivedAtMs },
        message: { requestId },
      });
    };
  }

  private async refund(reason: (Busy & { kind: 'refunding' })['reason']): Promise<Outcome> {
    const { orderNumber } = this;
    await refundPayment.executeWithOptions({ summary: 'Refund the buyer' }, [
      { orderNumber, reason },
    ]);
    return () => this.finish(this.record.state);
  }

  private async finish(state: OrderState): Promise<void> {
    // An operator has settled it outside at the very same moment.
    if (this.record.state.busy === null) return;
    await this.record.write(finishBusy(state, Date.now()));
  }

  /** Lets the money side work beside the lifecycle; its outcome is handled in turn. */
  private run(work: () => Promise<Outcome>): void {
    this.call = new CancellationScope();
    void this.call.run(work).then(
      (outcome) => this.order.handleLater(outcome),
      (error: unknown) => {
        if (!isCancellation(error)) throw error;
      },
    );
  }
}
