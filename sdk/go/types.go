package payorders

import "time"

// OrderStatus is the status of an order. More values may come: an unknown one is passed on.
type OrderStatus string

// The statuses of an order.
const (
	StatusAccepted           OrderStatus = "ACCEPTED"
	StatusPaid               OrderStatus = "PAID"
	StatusDelivered          OrderStatus = "DELIVERED"
	StatusDisputeOpen        OrderStatus = "DISPUTE_OPEN"
	StatusDisputeUnderReview OrderStatus = "DISPUTE_UNDER_REVIEW"
	StatusCompleted          OrderStatus = "COMPLETED"
	StatusRefunded           OrderStatus = "REFUNDED"
	StatusCancelled          OrderStatus = "CANCELLED"
)

// RefundReason is why a buyer is refunded. More values may come.
type RefundReason string

// The reasons of refunds. The last three are of a CANCELLED order, which cannot take a payment.
const (
	RefundMerchant                 RefundReason = "merchant_refund"
	RefundDisputeNotResolvedInTime RefundReason = "dispute_not_resolved_in_time"
	RefundDisputeAccepted          RefundReason = "dispute_accepted"
	RefundDisputeDecidedForBuyer   RefundReason = "dispute_decided_for_buyer"
	RefundSettledByOperator        RefundReason = "settled_by_operator"
	RefundLatePayment              RefundReason = "late_payment"
	RefundWrongAmount              RefundReason = "wrong_amount"
	RefundAlreadyPaid              RefundReason = "already_paid"
)

// Order is an order, in responses and in webhooks.
type Order struct {
	OrderNumber string `json:"order_number"`
	// MerchantOrderID is empty if none was given.
	MerchantOrderID string      `json:"merchant_order_id"`
	Amount          Amount      `json:"amount"`
	Currency        string      `json:"currency"`
	Status          OrderStatus `json:"status"`
	DisputeCount    int         `json:"dispute_count"`
	// Buyer has empty texts once the buyer's data was erased.
	Buyer       Buyer  `json:"buyer"`
	Description string `json:"description"`
	PaymentURL  string `json:"payment_url"`
	// ReturnURL is empty if none was given.
	ReturnURL            string    `json:"return_url"`
	PaymentLinkExpiresAt time.Time `json:"payment_link_expires_at"`
	// CompletesAt is set while the order is DELIVERED.
	CompletesAt  *time.Time    `json:"completes_at"`
	Dispute      *Dispute      `json:"dispute"`
	Refund       *Refund       `json:"refund"`
	Payment      *Payment      `json:"payment"`
	Cancellation *Cancellation `json:"cancellation"`
	CreatedAt    time.Time     `json:"created_at"`
	UpdatedAt    time.Time     `json:"updated_at"`
	// Replayed says whether an earlier call with the same idempotency key created the order. Orders.Create alone sets it.
	Replayed bool `json:"-"`
}

// Buyer is who pays an order.
type Buyer struct {
	Email string `json:"email"`
	Name  string `json:"name"`
	Phone string `json:"phone"`
}

// Dispute is the latest dispute of an order.
type Dispute struct {
	Reason   string    `json:"reason"`
	RaisedAt time.Time `json:"raised_at"`
	// RespondBy is nil once the dispute has ended.
	RespondBy  *time.Time `json:"respond_by"`
	Evidence   *string    `json:"evidence"`
	Resolution *string    `json:"resolution"`
	Decision   *Decision  `json:"decision"`
	EndedAt    *time.Time `json:"ended_at"`
}

// Decision is how an operator decided a dispute.
type Decision struct {
	// For is merchant or buyer.
	For       string    `json:"for"`
	Reason    string    `json:"reason"`
	DecidedAt time.Time `json:"decided_at"`
}

// Refund is what the buyer gets back.
type Refund struct {
	Amount Amount       `json:"amount"`
	Reason RefundReason `json:"reason"`
	// ProcessedAt is nil while the refund is under way.
	ProcessedAt *time.Time `json:"processed_at"`
}

// Payment is the payment of an order.
type Payment struct {
	GatewayPaymentID string    `json:"gateway_payment_id"`
	UTR              *string   `json:"utr"`
	PaidAt           time.Time `json:"paid_at"`
	ReversedAmount   Amount    `json:"reversed_amount"`
}

// Cancellation is who ended an order before its payment, and when.
type Cancellation struct {
	// By is merchant or expiry.
	By          string    `json:"by"`
	Reason      *string   `json:"reason"`
	CancelledAt time.Time `json:"cancelled_at"`
}

// PaymentSession is a payment session for a merchant with its own payment page.
type PaymentSession struct {
	SessionID string `json:"session_id"`
	// Status is open, paid or closed.
	Status    string    `json:"status"`
	UPIIntent *string   `json:"upi_intent"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Timeline is what happened to an order, and what happens next.
type Timeline struct {
	OrderNumber string      `json:"order_number"`
	Status      OrderStatus `json:"status"`
	// Doing is nil, or closing, releasing or refunding.
	Doing   *string         `json:"doing"`
	Entries []TimelineEntry `json:"entries"`
	// Earlier is nil, or what TimelineBefore takes to read the entries before these.
	Earlier *string     `json:"earlier"`
	Next    *NextAction `json:"next"`
}

// TimelineEntry is one step of an order.
type TimelineEntry struct {
	Kind    string         `json:"kind"`
	At      time.Time      `json:"at"`
	Status  OrderStatus    `json:"status"`
	Details map[string]any `json:"details"`
	// Webhook is nil for a step without an event.
	Webhook *TimelineWebhook `json:"webhook"`
}

// TimelineWebhook is the webhook of a step.
type TimelineWebhook struct {
	EventID  string `json:"event_id"`
	Sequence int    `json:"sequence"`
	// Delivery is nil if no webhook URL was configured when the event happened.
	Delivery *TimelineDelivery `json:"delivery"`
}

// TimelineDelivery is the state of a delivery.
type TimelineDelivery struct {
	State         DeliveryState `json:"state"`
	Attempts      int           `json:"attempts"`
	NextAttemptAt *time.Time    `json:"next_attempt_at"`
}

// NextAction is what happens next, unless something else happens before.
type NextAction struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
}
