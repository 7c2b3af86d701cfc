import type { Settlement } from '../domain/lifecycle.ts';
import type { OrderState, OrderTerms, Step } from '../domain/order.ts';
import type { PaymentRef } from './ids.ts';

/** The input of the `order` workflow. Its workflow id is the order number. */
export interface OrderInput {
  orderNumber: string;
  merchantId: string;
  amountPaise: number;
  createdAtMs: number;
  paymentLinkExpiresAtMs: number;
  terms: OrderTerms;
  /** The state of the run before; absent in the first run. */
  earlier?: EarlierRun;
}

/** A step in a workflow's memory, with all that is needed to write its row again. */
export interface KnownStep {
  step: Step;
  commandId: string | null;
  /** Set for PAYMENT_SUCCESS. */
  payment: PaymentRef | null;
}

/** The state that one run of an order's workflow passes to the next. */
export interface EarlierRun {
  state: OrderState;
  /** The latest steps, up to {@link MAX_KNOWN_STEPS}. */
  steps: KnownStep[];
  paidBy: PaymentRef | null;
}

/** How many steps a workflow keeps, to write them again after a restore from a backup. */
export const MAX_KNOWN_STEPS = 200;

export interface OrderResult {
  status: OrderState['status'];
  disputeCount: number;
  webhookEvents: number;
  /** Recovers the row if the database is restored to a time before the order's end. */
  run: EarlierRun;
}

/** The fields of every message. Every message but `pay` is refused unless its command, or its settlement, has a row. */
export interface OrderMessage {
  /** The id of the command: it names the command's row, and identifies a repeated request. */
  commandId?: string;
}
/** A captured payment of the order, which the database has recorded. */
export interface PayMessage extends OrderMessage, PaymentRef {}
export interface DisputeMessage extends OrderMessage {
  /** When the dispute was recorded, by the database's clock, Unix milliseconds. */
  receivedAtMs?: number;
}
/** An operator's decision of a dispute, in favour of one side. */
export interface DecideMessage extends OrderMessage {
  for: 'merchant' | 'buyer';
}
/** A settlement outside the gateway, which an operator has recorded. */
export interface SettleMessage extends OrderMessage {
  outcome: Settlement;
}
export interface AdvanceMessage extends OrderMessage {
  seconds: number;
}

/** Each message is both a Signal and an Update: an Update returns the result, a Signal needs no worker. */
export interface OrderMessages {
  pay: PayMessage;
  failPayment: OrderMessage;
  deliver: OrderMessage;
  cancel: OrderMessage;
  refund: OrderMessage;
  dispute: DisputeMessage;
  submitEvidence: OrderMessage;
  resolve: OrderMessage;
  accept: OrderMessage;
  decide: DecideMessage;
  advance: AdvanceMessage;
  settle: SettleMessage;
}
export type OrderMessageName = keyof OrderMessages;

/** A message before it is checked. An operator may have typed it, so every field may be missing. */
export type IncomingMessage = Partial<
  PayMessage & DisputeMessage & DecideMessage & SettleMessage & AdvanceMessage
>;
