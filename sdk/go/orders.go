package payorders

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// CreateOrder is the body of Orders.Create.
type CreateOrder struct {
	// Amount is in paise: see ParseAmount.
	Amount     Amount `json:"amount"`
	BuyerEmail string `json:"buyerEmail"`
	// BuyerPhone is +91 and 10 digits.
	BuyerPhone      string `json:"buyerPhone"`
	Description     string `json:"description"`
	BuyerName       string `json:"buyerName,omitempty"`
	MerchantOrderID string `json:"merchantOrderId,omitempty"`
	// ReturnURL is where the buyer's pages link to after the payment.
	ReturnURL string `json:"returnUrl,omitempty"`
}

// OrderFilter is the filter of Orders.List; an empty field matches all.
type OrderFilter struct {
	Status          OrderStatus
	MerchantOrderID string
	BuyerEmail      string
	// CreatedFrom is inclusive.
	CreatedFrom time.Time
	// CreatedTo is exclusive.
	CreatedTo time.Time
	// Size is how many orders one request returns: 1 to 100, 20 if 0.
	Size int
	// After is the Next of an earlier page.
	After string
}

// Delivery is what Orders.Deliver may tell.
type Delivery struct {
	TrackingID string `json:"trackingId,omitempty"`
	Note       string `json:"note,omitempty"`
}

type reasonBody struct {
	Reason string `json:"reason,omitempty"`
}

// Orders creates and changes orders. The errors of its methods are *Error.
type Orders struct{ way *transport }

func orderPath(orderNumber, rest string) string {
	return "/orders/" + segment(orderNumber) + rest
}

func queryOf(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

func timeText(moment time.Time) string {
	if moment.IsZero() {
		return ""
	}
	return moment.UTC().Format(time.RFC3339Nano)
}

func sizeText(size int) string {
	if size == 0 {
		return ""
	}
	return strconv.Itoa(size)
}

// Create creates an order. With the key of an earlier call, it returns that call's order as it stands, and Replayed is
// true: one that is CANCELLED or REFUNDED takes no payment, so create another with a new key.
func (orders *Orders) Create(ctx context.Context, order CreateOrder, options ...CallOption) (Order, error) {
	isReplayed := false
	one := post("/orders", order, options)
	one.isReplayed = &isReplayed
	created, err := result[Order](ctx, orders.way, one)
	created.Replayed = isReplayed
	return created, err
}

// Get is an order as it stands.
func (orders *Orders) Get(ctx context.Context, orderNumber string) (Order, error) {
	return result[Order](ctx, orders.way, get(orderPath(orderNumber, ""), nil))
}

// List is orders, newest first, without drift: an order that is created meanwhile moves nothing.
func (orders *Orders) List(filter OrderFilter) *List[Order] {
	query := map[string]string{
		"status":          string(filter.Status),
		"merchantOrderId": filter.MerchantOrderID,
		"buyerEmail":      filter.BuyerEmail,
		"createdFrom":     timeText(filter.CreatedFrom),
		"createdTo":       timeText(filter.CreatedTo),
		"size":            sizeText(filter.Size),
	}
	return &List[Order]{orders.way, "/orders", query, filter.After}
}

// Timeline is what happened to an order, the latest entries, and what happens next.
func (orders *Orders) Timeline(ctx context.Context, orderNumber string) (Timeline, error) {
	return orders.TimelineBefore(ctx, orderNumber, "")
}

// TimelineBefore has the entries before those of a timeline, by its Earlier.
func (orders *Orders) TimelineBefore(ctx context.Context, orderNumber, before string) (Timeline, error) {
	query := queryOf(map[string]string{"before": before})
	return result[Timeline](ctx, orders.way, get(orderPath(orderNumber, "/timeline"), query))
}

// Deliver says that a PAID order was delivered.
func (orders *Orders) Deliver(ctx context.Context, orderNumber string, delivery Delivery, options ...CallOption) (Order, error) {
	return result[Order](ctx, orders.way, post(orderPath(orderNumber, "/deliver"), delivery, options))
}

// Cancel cancels an ACCEPTED order. The reason may be empty.
func (orders *Orders) Cancel(ctx context.Context, orderNumber, reason string, options ...CallOption) (Order, error) {
	return result[Order](ctx, orders.way, post(orderPath(orderNumber, "/cancel"), reasonBody{reason}, options))
}

// Refund gives the whole amount of a PAID or DELIVERED order back.
func (orders *Orders) Refund(ctx context.Context, orderNumber, reason string, options ...CallOption) (Order, error) {
	return result[Order](ctx, orders.way, post(orderPath(orderNumber, "/refund"), reasonBody{reason}, options))
}

// OpenPaymentSession is the open payment session of an order, or a new one.
func (orders *Orders) OpenPaymentSession(ctx context.Context, orderNumber string, options ...CallOption) (PaymentSession, error) {
	return result[PaymentSession](ctx, orders.way, post(orderPath(orderNumber, "/payment-sessions"), nil, options))
}

// GetPaymentSession is a payment session. One that has expired is an *Error with PAYMENT_SESSION_EXPIRED.
func (orders *Orders) GetPaymentSession(ctx context.Context, orderNumber, sessionID string) (PaymentSession, error) {
	path := orderPath(orderNumber, "/payment-sessions/"+segment(sessionID))
	return result[PaymentSession](ctx, orders.way, get(path, nil))
}
