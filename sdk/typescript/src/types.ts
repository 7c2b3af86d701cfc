/** A value of an enum that may get more values. A program must accept unknown ones. */
type Open<Known extends string> = Known | (string & Record<never, never>);

/** Where a request belongs. The prefix of the key says the same. */
export type Environment = 'sandbox' | 'production';

/** The status of an order. */
export type OrderStatus = Open<
  | 'ACCEPTED'
  | 'PAID'
  | 'DELIVERED'
  | 'DISPUTE_OPEN'
  | 'DISPUTE_UNDER_REVIEW'
  | 'COMPLETED'
  | 'REFUNDED'
  | 'CANCELLED'
>;

/** Why a buyer is refunded. The last three occur only with a CANCELLED order, which cannot take a payment. */
export type RefundReason = Open<
  | 'merchant_refund'
  | 'dispute_not_resolved_in_time'
  | 'dispute_accepted'
  | 'dispute_decided_for_buyer'
  | 'settled_by_operator'
  | 'late_payment'
  | 'wrong_amount'
  | 'already_paid'
>;

/** The latest dispute of an order. Times are ISO-8601 in UTC. */
export interface Dispute {
  readonly reason: string;
  readonly raised_at: string;
  /** Null once the dispute has ended. */
  readonly respond_by: string | null;
  readonly evidence: string | null;
  readonly resolution: string | null;
  readonly decision: {
    readonly for: Open<'merchant' | 'buyer'>;
    readonly reason: string;
    readonly decided_at: string;
  } | null;
  readonly ended_at: string | null;
}

/** An order, in responses and in webhooks. Amounts are rupees with at most two decimals: see `toPaise`. */
export interface Order {
  readonly order_number: string;
  readonly merchant_order_id?: string;
  readonly amount: number;
  readonly currency: 'INR';
  readonly status: OrderStatus;
  readonly dispute_count: number;
  /** Empty texts once the buyer's data was erased. */
  readonly buyer: { readonly email: string; readonly name: string; readonly phone: string };
  readonly description: string;
  readonly payment_url: string;
  readonly return_url?: string;
  readonly payment_link_expires_at: string;
  /** Set while the order is DELIVERED. */
  readonly completes_at: string | null;
  readonly dispute: Dispute | null;
  readonly refund: {
    readonly amount: number;
    readonly reason: RefundReason;
    /** Null while the refund is under way. */
    readonly processed_at: string | null;
  } | null;
  readonly payment: {
    readonly gateway_payment_id: string;
    readonly utr: string | null;
    readonly paid_at: string;
    readonly reversed_amount: number;
  } | null;
  readonly cancellation: {
    readonly by: Open<'merchant' | 'expiry'>;
    readonly reason: string | null;
    readonly cancelled_at: string;
  } | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface CreatedOrder extends Order {
  /** Whether an earlier call with the same idempotency key created it. */
  readonly replayed: boolean;
}

export interface CreateOrder {
  /** Rupees: 499.5 or '499.50'. More than two decimals are refused before the request is sent. */
  readonly amount: number | string;
  readonly buyerEmail: string;
  /** +91 and 10 digits. */
  readonly buyerPhone: string;
  readonly description: string;
  readonly buyerName?: string;
  readonly merchantOrderId?: string;
  /** Where the buyer's pages link to after the payment. */
  readonly returnUrl?: string;
  readonly currency?: 'INR';
}

/** The filters of `orders.list`. An absent filter matches all. */
export interface OrderFilter {
  readonly status?: OrderStatus;
  readonly merchantOrderId?: string;
  readonly buyerEmail?: string;
  /** Inclusive, ISO-8601. */
  readonly createdFrom?: string;
  /** Exclusive, ISO-8601. */
  readonly createdTo?: string;
  /** The number of orders in a page: 1 to 100. Default: 20. */
  readonly size?: number;
  /** The `next` of an earlier page. */
  readonly after?: string;
}

/** A page of a list, and the cursor of the next one. */
export interface Page<Item> {
  readonly content: readonly Item[];
  readonly next: string | null;
}

/** A payment session for a merchant with its own payment page. */
export interface PaymentSession {
  readonly session_id: string;
  readonly status: Open<'open' | 'paid' | 'closed'>;
  readonly upi_intent: string | null;
  readonly expires_at: string;
}

/** What happened to an order, and what happens next. */
export interface Timeline {
  readonly order_number: string;
  readonly status: OrderStatus;
  readonly doing: Open<'closing' | 'releasing' | 'refunding'> | null;
  readonly entries: readonly {
    readonly kind: string;
    readonly at: string;
    readonly status: OrderStatus;
    readonly details: Readonly<Record<string, unknown>> | null;
    readonly webhook: {
      readonly event_id: string;
      readonly sequence: number;
      readonly delivery: {
        readonly state: Open<'PENDING' | 'DELIVERED' | 'FAILED'>;
        readonly attempts: number;
        readonly next_attempt_at: string | null;
      } | null;
    } | null;
  }[];
  /** The `before` of the entries before these. */
  readonly earlier: string | null;
  readonly next: { readonly at: string; readonly action: string } | null;
}

/** The types of events. `TEST` comes from the dashboard's button and from `payorders trigger`. */
export type EventType = Open<
  | 'ORDER_CREATED'
  | 'PAYMENT_SUCCESS'
  | 'PAYMENT_FAILED'
  | 'DELIVERY_CONFIRMED'
  | 'DISPUTE_RAISED'
  | 'DISPUTE_RESOLVED'
  | 'ORDER_COMPLETED'
  | 'REFUND_PROCESSED'
  | 'ORDER_CANCELLED'
  | 'TEST'
>;

/** The body of a webhook, and an item of `events.list`. */
export interface WebhookEvent {
  readonly event: EventType;
  /** Unique. A receiver recognises a repeat by it. */
  readonly event_id: string;
  /** 1, 2, 3… over the events of the order. 0 for a TEST event. */
  readonly sequence: number;
  readonly timestamp: string;
  readonly environment: Environment;
  /** Only PAYMENT_FAILED has `payment_failure`. */
  readonly data: Order & { readonly payment_failure?: { readonly reason: string } };
}

/** The filters of `events.list`. An absent filter matches all. */
export interface EventFilter {
  readonly type?: EventType;
  readonly orderNumber?: string;
  /** Inclusive, ISO-8601; events are kept for 90 days. */
  readonly createdFrom?: string;
  /** The number of events in a page: 1 to 100. */
  readonly size?: number;
  /** The `next` of an earlier page. */
  readonly after?: string;
}

/** An event with its delivery. */
export interface EventDetails {
  readonly event: WebhookEvent;
  /** Null if no webhook URL was configured when the event happened. */
  readonly delivery: {
    readonly state: Open<'PENDING' | 'DELIVERED' | 'FAILED'>;
    readonly next_attempt_at: string | null;
    readonly attempts: readonly {
      readonly at: string;
      readonly kind: Open<'scheduled' | 'manual'>;
      readonly url: string;
      /** Null without an answer. */
      readonly status_code: number | null;
      readonly duration_ms: number;
      /** Null if the endpoint accepted it. */
      readonly error: string | null;
    }[];
  } | null;
}

/** A movement of your money. */
export interface StatementLine {
  readonly type: Open<
    | 'paid'
    | 'released'
    | 'paid_out'
    | 'refunded'
    | 'refund_failed'
    | 'reversed'
    | 'charged_back'
    | 'covered'
  >;
  readonly amount: number;
  /** Added to the money that is held for you; `debit` is taken from it. */
  readonly credit: number;
  readonly debit: number;
  /** The line belongs to the day of this time. */
  readonly booked_at: string;
  readonly happened_at: string;
  readonly order_number: string;
  readonly merchant_order_id: string | null;
  readonly gateway_payment_id: string;
  readonly gateway_transfer_id: string | null;
  readonly gateway_refund_id: string | null;
  readonly gateway_chargeback_id: string | null;
  readonly utr: string | null;
  /** The payout by which a released transfer reached your bank. */
  readonly gateway_payout_id: string | null;
  readonly payout_utr: string | null;
}

/** A day in India: a page of its lines, and its balances. */
export interface Statement extends Page<StatementLine> {
  readonly opening_balance: number;
  /** For a day that is not closed, the balance so far. */
  readonly closing_balance: number;
  /** Nothing will be added to the day. */
  readonly closed: boolean;
}

export interface StatementQuery {
  /** The number of lines in a page: 1 to 100. */
  readonly size?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}
