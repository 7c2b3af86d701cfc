import type { RefundReason, Step } from '../domain/order.ts';

/** A step to write into the book, and what must hold for it to be written. */
export interface RecordStepInput {
  orderNumber: string;
  step: Step;
  requestId?: string;
  /** An Update waits for this step: until its answer is heard, its workflow task may be lost. */
  forUpdate?: boolean;
  /** PAID: refused unless this payment is in the book as captured for this order and amount. */
  gatewayPaymentId?: string;
  /** CANCELLED: refused while a payment session is open. */
  unlessSessionOpen?: boolean;
  /** Settling: refused while a dispute that was received before this moment is waiting. */
  unlessDisputedBeforeMs?: number;
  /** Settled outside: refused unless an operator has written that settlement down. */
  ifSettledOutside?: boolean;
}

/** What the book has under a step's number, written by a try whose workflow task was lost. */
export interface WrittenStep {
  step: Step;
  requestId: string | null;
  /** Of PAYMENT_SUCCESS. */
  gatewayPaymentId: string | null;
}

export type RecordStepResult =
  /** Written now; or before, with `written`: then that counts, whatever was asked now. */
  | { outcome: 'recorded'; deliveryId: string | null; written?: WrittenStep }
  | { outcome: 'not_settled' }
  | { outcome: 'payment_not_captured' }
  | { outcome: 'session_open' }
  | { outcome: 'disputed'; dispute: { requestId: string; receivedAtMs: number } }
  | { outcome: 'too_early'; retryAfterMs: number };

export interface FoundStep {
  written: WrittenStep;
  deliveryId: string | null;
}

export interface ReleaseInput {
  orderNumber: string;
  /** RELEASE_STARTED: the statement that makes it too late for a dispute. */
  started: Step;
  windowEndedAtMs: number;
}
export type ReleaseResult =
  | { outcome: 'released' }
  /** The book had gone on with another step: nothing was released. */
  | ({ outcome: 'overtaken' } & FoundStep)
  | { outcome: 'disputed'; dispute: { requestId: string; receivedAtMs: number } };

export interface RefundInput {
  orderNumber: string;
  reason: RefundReason;
}

/** Local activities: one SQL statement, idempotent by (order, step number). */
export interface RecordActivities {
  recordStep(input: RecordStepInput): Promise<RecordStepResult>;
  /** What the book has under that number, if it has gone on without the workflow. */
  findStep(input: { orderNumber: string; stepNumber: number }): Promise<FoundStep | null>;
}

export type ManualAttemptResult =
  | { outcome: 'delivered' }
  /** The receiver did not take it: the delivery stays what it was. */
  | { outcome: 'refused'; reason: string }
  /** No attempt was made: another one of this delivery is under way. */
  | { outcome: 'running' }
  /** No attempt was made: no webhook URL is configured. */
  | { outcome: 'no_url' };

/** The webhook's retries are the specification's schedule; see `activities/webhooks.ts`. */
export interface WebhookActivities {
  /** One attempt at once, in any state of the delivery, beside the schedule's five. */
  attemptManually(input: { deliveryId: string }): Promise<ManualAttemptResult>;
  /** @throws ApplicationFailure `WEBHOOK_FAILED` (not retryable) after the fifth attempt */
  sendWebhook(input: { deliveryId: string }): Promise<void>;
}

/** These retry until the gateway has done it. */
export interface MoneyActivities {
  releaseFunds(input: ReleaseInput): Promise<ReleaseResult>;
  refundPayment(input: RefundInput): Promise<void>;
}

export type ClosingResult =
  | { outcome: 'closed' }
  /** The buyer was faster: the payment is in the book, captured for this order and amount. */
  | { outcome: 'paid'; gatewayPaymentId: string };

/** Closes the open payment session at the gateway, so that the order can be cancelled. */
export interface PaymentSessionActivities {
  closePaymentSession(input: { orderNumber: string }): Promise<ClosingResult>;
}

export interface SurplusActivities {
  /** Gives a capture back if its order cannot take it; retries until the gateway has done it. */
  refundSurplus(input: { gatewayPaymentId: string }): Promise<void>;
}

export interface ReconcileActivities {
  /** Asks the gateway about sessions whose callbacks may have been lost. */
  reconcilePayments(): Promise<{ sessions: number; captures: number }>;
}

export interface SweepActivities {
  /** Starts the workflow of each order that has a row but no recorded first step. */
  startUnstartedOrders(): Promise<{ started: number }>;
}

export interface ListingActivities {
  /** Cuts the orders of busy merchants into blocks, which lists count by. */
  sealOrderBlocks(): Promise<{ sealed: number }>;
}

export type Activities = RecordActivities &
  WebhookActivities &
  MoneyActivities &
  PaymentSessionActivities &
  SurplusActivities &
  ReconcileActivities &
  SweepActivities &
  ListingActivities;
