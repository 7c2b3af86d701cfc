import type { Answer, CommandType, Requirement, Settlement } from '../domain/lifecycle.ts';
import type { RefundReason, Step, StepKind } from '../domain/order.ts';
import type { PaymentRef } from './ids.ts';
import type { KnownStep } from './order-workflow.ts';

/** A step to record, with the conditions that the database checks first. */
export interface RecordStepInput {
  orderNumber: string;
  step: Step;
  /** The id of the command that the step carries out. */
  commandId?: string | undefined;
  /** What the step carries out. If the step requires its command's row, that must be one of this type. */
  commandType?: CommandType | undefined;
  /** Required for PAID: refused unless this payment is recorded as captured for this order and amount. */
  payment?: PaymentRef | undefined;
  /** For CLOSING_PAYMENT: the step that is recorded instead when no payment session is open. */
  ifNoSessionOpen?: Step | undefined;
  /** True if a restored database has lost this step and the texts of its command. */
  isRewritten?: boolean;
  requires?: readonly Requirement[] | undefined;
}

export type RecordStepResult =
  /** The step that the database has under this number: the given one, or another that was recorded earlier. */
  | { outcome: 'recorded'; recorded: KnownStep }
  /** The database has lost steps that the workflow has. `stepNumber` is its latest. */
  | { outcome: 'row_behind'; stepNumber: number }
  /** An earlier step has recorded this command. */
  | { outcome: 'repeated' }
  | { outcome: 'not_settled' }
  | { outcome: 'command_not_recorded' }
  /** The command was received before the dispute. */
  | { outcome: 'earlier_dispute' }
  | { outcome: 'payment_not_captured' }
  | { outcome: 'payment_gone' }
  | { outcome: 'chargeback_open' }
  | { outcome: 'disputed'; dispute: WaitingDispute }
  | { outcome: 'answered'; answer: WaitingAnswer }
  /** The deadline is handled for the first time, and too late: the workflow extends it. */
  | { outcome: 'deadline_late' }
  /** The deadline has not passed by the database's clock. */
  | { outcome: 'too_early' }
  /** The release waits until an operator or the gateway has removed the cause. */
  | { outcome: 'release_waits'; cause: 'merchant_not_active' | 'reversed_at_gateway' };

export interface WaitingDispute {
  commandId: string;
  receivedAtMs: number;
}

/** An answer to the open dispute, or its decision, that the API has recorded for the order. */
export interface WaitingAnswer {
  commandId: string;
  type: Answer;
}

/** How an operator has settled an order outside the gateway. */
export interface FoundSettlement {
  commandId: string;
  outcome: Settlement;
}

export type MoveFundsResult =
  | { outcome: 'moved' }
  /** An operator has settled the order, so the gateway was not asked to move anything. */
  | { outcome: 'settled'; settlement: FoundSettlement };

export interface OrderRecord {
  /** The number of the latest step in the database. */
  stepNumber: number;
  /** The step at the latest number that both sides have; null when the workflow has none. */
  common: Step | null;
  /** The steps beyond those that the workflow has. */
  steps: KnownStep[];
  /** The deliveries that the workflow has to send. */
  deliveries: { deliveryId: string; kind: StepKind }[];
  /** A dispute that the order has not recorded yet. */
  dispute: WaitingDispute | null;
  /** The settlement of an order that is not final. */
  settlement: FoundSettlement | null;
}

/**
 * Local activities, and normal ones while the database fails. They are idempotent by order and step number. Each writes
 * with one SQL statement, after reads.
 */
export interface DatabaseActivities {
  /**
   * Reads what the database has of an order. The first read records the start of the order, and this process begins the
   * first attempt of its webhook.
   *
   * @returns null when the order has no row; an alert is then raised
   */
  readOrder(input: {
    orderNumber: string;
    /** The number of the latest step that the workflow has. */
    afterStep: number;
  }): Promise<OrderRecord | null>;
  /** Records a step. This process then begins the first attempt of its webhook, and its mails, and waits for neither. */
  recordStep(input: RecordStepInput): Promise<RecordStepResult>;
}

/** A normal activity, because it also calls the gateway. */
export interface RecoveryActivities {
  /** Writes steps again that a restored database has lost. Their webhooks are sent again. */
  rewriteSteps(input: { orderNumber: string; steps: KnownStep[] }): Promise<void>;
}

export type ManualAttemptResult =
  | { outcome: 'accepted' }
  /** The endpoint did not accept it. The delivery's state is unchanged. */
  | { outcome: 'refused'; reason: string }
  /** No attempt was made, because another attempt of this delivery is running. */
  | { outcome: 'running' }
  /** No attempt was made, because no webhook URL is configured. */
  | { outcome: 'no_url' };

export interface ResendPage {
  /** The first place of the page in the resend's list, and the first place after the page. */
  from: number;
  through: number;
  deliveryIds: string[];
}

export interface ResendPageResult extends Omit<ResendPage, 'deliveryIds'> {
  accepted: number;
  refused: number;
  /** False if the webhook URL was removed meanwhile. */
  hasUrl: boolean;
}

/** The webhook activities keep the specification's schedule of attempts. */
export interface WebhookActivities {
  /** Makes one attempt immediately, whatever the delivery's state, in addition to the schedule's five. */
  attemptManually(input: { deliveryId: string }): Promise<ManualAttemptResult>;
  /**
   * Records the results of a page of a resend, and reads the next page.
   *
   * @returns null when the resend has ended
   */
  continueResend(input: { resendId: string; done?: ResendPageResult }): Promise<ResendPage | null>;
  /** @throws ApplicationFailure `WEBHOOK_FAILED` (not retryable) after the fifth attempt */
  sendWebhook(input: { deliveryId: string }): Promise<void>;
}

export interface MailActivities {
  /**
   * Makes one attempt to send a mail.
   *
   * @throws ApplicationFailure `MAIL_FAILED` (not retryable) when the mail is given up
   */
  sendMail(input: { mailId: string }): Promise<void>;
}

export type ClosingResult =
  | { outcome: 'closed' }
  /** The buyer paid first. The payment is recorded as captured for this order and amount. */
  | { outcome: 'paid'; payment: PaymentRef };

/**
 * Activities that call the gateway. Those that move money are retried until the gateway has done it, and say only
 * that: the order's workflow decides and records what follows.
 */
export interface MoneyActivities {
  releaseFunds(input: { orderNumber: string }): Promise<MoveFundsResult>;
  /** `reason` is shown at the gateway. */
  refundPayment(input: { orderNumber: string; reason: RefundReason }): Promise<MoveFundsResult>;
  /** Refunds a capture unless its order has taken it. */
  refundSurplus(payment: PaymentRef): Promise<void>;
  /** Closes the open payment session at the gateway, so that the order can be cancelled. */
  closePaymentSession(input: { orderNumber: string }): Promise<ClosingResult>;
  /** Reconciles one of `count` equal parts of the payment sessions with the gateway. */
  reconcilePayments(part: {
    index: number;
    count: number;
  }): Promise<{ sessions: number; captures: number }>;
}

/** What the Schedules run. The sweep finds what a dead process or a restored backup left unfinished. */
export interface ScheduleActivities {
  /** Wakes the orders that their workflow should have looked at. */
  wakeDueOrders(): Promise<{ woken: number }>;
  /** Starts the workflow of each mail that waits and has none. */
  startUnstartedMails(): Promise<{ started: number }>;
  /** Starts the workflow of each unfinished resend that has none. */
  startUnfinishedResends(): Promise<{ unfinished: number }>;
  /** Writes the mails to merchants whose webhooks do not arrive. */
  warnOfFailingEndpoints(): Promise<{ mails: number }>;
  /** Writes and sends the reminders of disputes whose deadline is within 24 hours. */
  remindOfDisputes(): Promise<{ mails: number }>;
  /** Carries out approved proposals that are not done, and warns of those whose order has a deadline soon. */
  sweepProposals(): Promise<{ carriedOut: number; warned: number }>;
  /** Compares the rows of open orders with running workflows, and wakes orders that differ. */
  compareOrders(): Promise<{ compared: number; woken: number }>;
  /** Seals full blocks of orders, whose counts make up the totals of lists, and adds up the ledger's lines by day. */
  sealOrderBlocks(): Promise<{ sealed: number }>;
  /** Verifies the whole ledger and records the result. A fault raises an alert. */
  verifyLedger(): Promise<{ ok: boolean; faultCount: number }>;
  /** Compares each payment of an open or recently ended order with the gateway. A difference raises an alert. */
  compareWithGateway(): Promise<{ differing: number }>;
  /** Deletes expired data, in batches. @returns the number of deleted rows by kind */
  deleteExpiredData(): Promise<Record<string, number>>;
}

export type Activities = DatabaseActivities &
  RecoveryActivities &
  WebhookActivities &
  MailActivities &
  MoneyActivities &
  ScheduleActivities;
