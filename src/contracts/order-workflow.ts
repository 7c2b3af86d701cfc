import type { Settlement } from '../domain/lifecycle.ts';
import type { OrderState, OrderTerms, Step } from '../domain/order.ts';

/** What the `order` workflow starts with. Its workflow id is the order number. */
export interface OrderInput {
  orderNumber: string;
  merchantId: string;
  amountPaise: number;
  createdAtMs: number;
  paymentLinkExpiresAtMs: number;
  terms: OrderTerms;
  /** What an earlier run knew of the order; absent in its first run. */
  earlier?: EarlierRun;
}

/** A step that a workflow knows, with all that it takes to write it again. */
export interface KnownStep {
  step: Step;
  requestId: string | null;
  /** Of PAYMENT_SUCCESS. */
  gatewayPaymentId: string | null;
}

/** What one run of an order's workflow hands to the next. */
export interface EarlierRun {
  state: OrderState;
  /** The latest steps, up to {@link MAX_KNOWN_STEPS}. */
  steps: KnownStep[];
  paidBy: string | null;
}

/** So many steps a workflow can write again after the database was restored from a backup. */
export const MAX_KNOWN_STEPS = 200;

/** What the workflow's result shows once the order is over. */
export interface OrderResult {
  status: OrderState['status'];
  disputeCount: number;
  webhookEvents: number;
  /** Should the database be restored to a time before the order's end, it is brought up to it. */
  run: EarlierRun;
}

/**
 * What every message may carry. All of it is optional, so that an operator can send a bare
 * `deliver` from the Temporal UI.
 */
export interface RequestMessage {
  /** Id of the API request: names its texts in the database, and answers a repeat of it. */
  requestId?: string;
}
export interface PayMessage extends RequestMessage {
  /** Id of a captured payment in our book. */
  gatewayPaymentId: string;
}
export interface DisputeMessage extends RequestMessage {
  /** The database's time at which the dispute was written down, Unix milliseconds. */
  receivedAtMs?: number;
}
export interface DecideMessage extends RequestMessage {
  for: 'merchant' | 'buyer';
}
export interface SettleMessage extends RequestMessage {
  outcome: Settlement;
}
export interface AdvanceMessage extends RequestMessage {
  seconds: number;
}

/** Signals and Updates of the same names: an Update answers, a Signal survives without a worker. */
export interface OrderMessages {
  pay: PayMessage;
  failPayment: RequestMessage;
  deliver: RequestMessage;
  cancel: RequestMessage;
  refund: RequestMessage;
  dispute: DisputeMessage;
  submitEvidence: RequestMessage;
  resolve: RequestMessage;
  accept: RequestMessage;
  decide: DecideMessage;
  advance: AdvanceMessage;
  /** An operator recorded where the order's money is now. */
  settle: SettleMessage;
}
export type OrderMessageName = keyof OrderMessages;

/** A message as it arrives: operators may have typed it, so every field may be missing. */
export type IncomingMessage = Partial<
  PayMessage & DisputeMessage & DecideMessage & SettleMessage & AdvanceMessage
>;
