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

/** A step in a workflow's memory, with everything that is needed to write its row again. */
export interface KnownStep {
  step: Step;
  commandId: string | null;
  /** Of PAYMENT_SUCCESS. */
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

/** The workflow's result. */
export interface OrderResult {
  status: OrderState['status'];
  disputeCount: number;
  webhookEvents: number;
  /** Used to recover the row when the database is restored to a time before the order's end. */
  run: EarlierRun;
}

/** Fields of every message. A message of a person is refused unless the row of its command exists. */
export interface OrderMessage {
  /** Id of the API request: names its texts in the database, and answers a repeat of it. */
  commandId?: string;
}
/** A captured payment of the order that the database has. */
export interface PayMessage extends OrderMessage, PaymentRef {}
/** A buyer's dispute. */
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
/** A move of the sandbox clock. */
export interface AdvanceMessage extends OrderMessage {
  seconds: number;
}

/** Each is both a Signal and an Update: an Update returns the result, a Signal needs no worker. */
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
  /** An operator has recorded a settlement outside the gateway. */
  settle: SettleMessage;
}
/** The name of a message: that of its Signal and its Update. */
export type OrderMessageName = keyof OrderMessages;

/** A message before it is checked: an operator may have typed it, so every field may be missing. */
export type IncomingMessage = Partial<
  PayMessage & DisputeMessage & DecideMessage & SettleMessage & AdvanceMessage
>;
