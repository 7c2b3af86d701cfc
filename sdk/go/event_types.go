package payorders

import "time"

// EventType is the type of an event. More values may come.
type EventType string

// The types of events. EventTest comes from the dashboard's button and from `payorders trigger`.
const (
	EventOrderCreated      EventType = "ORDER_CREATED"
	EventPaymentSuccess    EventType = "PAYMENT_SUCCESS"
	EventPaymentFailed     EventType = "PAYMENT_FAILED"
	EventDeliveryConfirmed EventType = "DELIVERY_CONFIRMED"
	EventDisputeRaised     EventType = "DISPUTE_RAISED"
	EventDisputeResolved   EventType = "DISPUTE_RESOLVED"
	EventOrderCompleted    EventType = "ORDER_COMPLETED"
	EventRefundProcessed   EventType = "REFUND_PROCESSED"
	EventOrderCancelled    EventType = "ORDER_CANCELLED"
	EventTest              EventType = "TEST"
)

// DeliveryState is PENDING, DELIVERED or FAILED. More values may come.
type DeliveryState string

// Event is the body of a webhook, and an item of Events.List.
type Event struct {
	Type EventType `json:"event"`
	// EventID is unique: by this a receiver finds a repeat.
	EventID string `json:"event_id"`
	// Sequence is 1, 2, 3… over the events of the order; 0 of a TEST event.
	Sequence    int         `json:"sequence"`
	Timestamp   time.Time   `json:"timestamp"`
	Environment Environment `json:"environment"`
	Data        EventData   `json:"data"`
}

// EventData is the order of an event.
type EventData struct {
	Order
	// PaymentFailure is set in PAYMENT_FAILED alone.
	PaymentFailure *PaymentFailure `json:"payment_failure"`
}

// PaymentFailure is why a payment failed.
type PaymentFailure struct {
	Reason string `json:"reason"`
}

// EventDetails is an event with its delivery.
type EventDetails struct {
	Event Event `json:"event"`
	// Delivery is nil if no webhook URL was configured when the event happened.
	Delivery *EventDelivery `json:"delivery"`
}

// EventDelivery is the state of a delivery and its attempts.
type EventDelivery struct {
	State         DeliveryState     `json:"state"`
	NextAttemptAt *time.Time        `json:"next_attempt_at"`
	Attempts      []DeliveryAttempt `json:"attempts"`
}

// DeliveryAttempt is one attempt to deliver an event.
type DeliveryAttempt struct {
	At time.Time `json:"at"`
	// Kind is scheduled or manual.
	Kind string `json:"kind"`
	URL  string `json:"url"`
	// StatusCode is nil without an answer.
	StatusCode *int `json:"status_code"`
	DurationMs int  `json:"duration_ms"`
	// Error is nil if the endpoint accepted the event.
	Error *string `json:"error"`
}
