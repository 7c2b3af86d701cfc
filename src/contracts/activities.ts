import type { Requirement } from '../domain/lifecycle.ts';
import type { OrderState, Step, StepKind } from '../domain/order.ts';
import type { KnownStep } from './order-workflow.ts';

/** A step to record, and what must hold for it to be recorded. */
export interface RecordStepInput {
  orderNumber: string;
  step: Step;
  requestId?: string;
  /** An Update waits for this step: until its answer is acknowledged, its workflow task may be lost. */
  forUpdate?: boolean;
  /** PAID: refused unless this payment is recorded as captured for this order and amount. */
  gatewayPaymentId?: string;
  /** CLOSING_PAYMENT: what is recorded in its place when no payment session is open. */
  ifNoSessionOpen?: Step;
  /** The database was restored from a backup and has lost this step: its texts are lost, too. */
  isRewritten?: boolean;
  /**
   * `no_dispute_waiting`: refused while a dispute waits that was received before the window's end.
   * `settlement_recorded`: refused unless an operator has written a settlement outside down.
   * `release_allowed`: refused while the merchant is not active, or some of the payment was refunded
   * or charged back at the gateway.
   * `request_recorded`: refused unless the row of the request names a person and a reason.
   */
  requires?: readonly Requirement[];
}

/** A step as the database has it: what happened, whoever asked for it. */
export interface RecordedStep extends KnownStep {
  /** Its webhook, which the order's workflow sends; null when there is none or it has arrived. */
  deliveryId: string | null;
}

export type RecordStepResult =
  /** The step that the database has under this number: this one, or another one from before. */
  | { outcome: 'recorded'; recorded: RecordedStep }
  /** The database has lost steps that the workflow knows: it ends with this number. */
  | { outcome: 'row_behind'; stepNumber: number }
  /** Another step has recorded this request. */
  | { outcome: 'repeated' }
  | { outcome: 'not_settled' }
  | { outcome: 'request_not_recorded' }
  | { outcome: 'payment_not_captured' }
  | { outcome: 'disputed'; dispute: { requestId: string; receivedAtMs: number } }
  | { outcome: 'too_early'; retryAfterMs: number }
  /** Not before an operator, or the gateway, has seen to it. */
  | { outcome: 'release_waits'; because: 'merchant_not_active' | 'reversed_at_gateway' };

/** An order whose money is to be moved. */
export interface MoveFundsInput {
  orderNumber: string;
  /** As its workflow knows it: about to release or releasing, or refunding. */
  state: OrderState;
}
/** The money has moved, and the order's last step says so. */
export type MoveFundsResult =
  /** A release records its beginning and its end. */
  | { outcome: 'recorded'; recorded: RecordedStep[] }
  /** Database and workflow have different steps: nothing was moved. */
  | { outcome: 'diverged' };
export type ReleaseResult =
  | MoveFundsResult
  | { outcome: 'disputed'; dispute: { requestId: string; receivedAtMs: number } };

/** What the database has of an order. */
export interface OrderRecord {
  /** Of its latest step. */
  stepNumber: number;
  /** The step at the latest number that both sides have; null when the workflow has none. */
  common: Step | null;
  /** The steps beyond those that the workflow has. */
  steps: KnownStep[];
  /** The webhooks that have not settled, whichever step they belong to. */
  deliveries: { deliveryId: string; kind: StepKind }[];
}

/** Local activities: one SQL statement, idempotent by (order, step number). */
export interface RecordActivities {
  /**
   * Reads what the database has of an order, and marks its workflow as started.
   *
   * @returns null when the order has no row: then an alert is raised
   */
  readOrder(input: {
    orderNumber: string;
    /** The number of the latest step that the workflow has. */
    afterStep: number;
  }): Promise<OrderRecord | null>;
  recordStep(input: RecordStepInput): Promise<RecordStepResult>;
}

/** Asks the gateway, too, so it is no local activity. */
export interface RecoveryActivities {
  /**
   * Writes steps again that a restored database has lost.
   *
   * @returns the webhooks to be sent again, under their former event ids
   */
  rewriteSteps(input: {
    orderNumber: string;
    steps: KnownStep[];
  }): Promise<{ deliveries: OrderRecord['deliveries'] }>;
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
  releaseFunds(input: MoveFundsInput): Promise<ReleaseResult>;
  refundPayment(input: MoveFundsInput): Promise<MoveFundsResult>;
}

export type ClosingResult =
  | { outcome: 'closed' }
  /** The buyer was faster: the payment is recorded as captured for this order and amount. */
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
  /** Asks the gateway about sessions whose callbacks may have been lost: one of equal parts. */
  reconcilePayments(part: {
    index: number;
    count: number;
  }): Promise<{ sessions: number; captures: number }>;
}

export interface SweepActivities {
  /** Starts the workflow of each order that has a row and never had a workflow. */
  startUnstartedOrders(): Promise<{ started: number }>;
  /** Compares open orders with the workflows that run, and brings the two together. */
  compareOrders(): Promise<{ compared: number; recovered: number }>;
}

export interface ListingActivities {
  /** Cuts the orders of busy merchants into blocks, which lists count by. */
  sealOrderBlocks(): Promise<{ sealed: number }>;
}

export type Activities = RecordActivities &
  RecoveryActivities &
  WebhookActivities &
  MoneyActivities &
  PaymentSessionActivities &
  SurplusActivities &
  ReconcileActivities &
  SweepActivities &
  ListingActivities;
