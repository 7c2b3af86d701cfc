import type {
  OperatorReview,
  PendingOperation,
  Environment,
  OrderStatus,
  OrderTerms,
  RefundReason,
} from '../domain/index.ts';
import type { Language } from '../pages/language.ts';

/** The texts and numbers of a command that its row in `order_commands` stores. */
export type CommandBody = Readonly<Record<string, string | number>>;

/** A row of `orders_with_dispute`: an order with its latest dispute. The migrations describe each column. */
export interface OrderRow {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  /** The name of the payment gateway's adapter. */
  gateway: string;
  idempotencyKey: string;
  requestHash: Uint8Array;
  merchantOrderId: string | null;
  amountPaise: number;
  description: string;
  buyerEmail: string;
  buyerPhone: string;
  /** The language in which the buyer last read the order's page; English before that. */
  buyerLanguage: Language;
  buyerName: string;
  /** The URL that the buyer's pages link back to. */
  returnUrl: string | null;
  paymentToken: string;
  status: OrderStatus;
  pendingOperation: PendingOperation | null;
  stepNumber: number;
  disputeCount: number;
  gatewayPaymentId: string | null;
  paymentUtr: string | null;
  /** Refunded or charged back at the gateway itself. */
  reversedPaise: number;
  paidAt: Date | null;
  paymentLinkExpiresAt: Date;
  completesAt: Date | null;
  disputeReason: string | null;
  disputeRaisedAt: Date | null;
  disputeRespondBy: Date | null;
  disputeEvidence: string | null;
  disputeResolution: string | null;
  disputeDecidedFor: 'merchant' | 'buyer' | null;
  disputeDecisionReason: string | null;
  disputeDecidedAt: Date | null;
  disputeEndedAt: Date | null;
  /** Set for a dispute that an operator decides. */
  operatorReview: OperatorReview | null;
  refundAmountPaise: number | null;
  refundReason: RefundReason | null;
  refundProcessedAt: Date | null;
  cancelledBy: 'merchant' | 'expiry' | null;
  cancelReason: string | null;
  cancelledAt: Date | null;
  waitingDisputeId: string | null;
  waitingDisputeReceivedAt: Date | null;
  openSessionId: string | null;
  terms: OrderTerms;
  erasedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** Pages, files and the command line show this in place of an erased buyer's data. */
export const ERASED = 'Erased';

/** Replaces the buyer's data of an erased order by a mark, for people. The API's order has empty texts there. */
export function markErased<Row extends Pick<OrderRow, 'erasedAt'>>(row: Row): Row {
  if (row.erasedAt === null) return row;
  const marks = { description: ERASED, buyerName: ERASED, buyerEmail: ERASED, buyerPhone: ERASED };
  return { ...row, ...marks };
}
