package payorders

import (
	"context"
	"time"
)

// LineType is paid, released, paid_out, refunded, refund_failed, reversed, charged_back or covered. More values may come.
type LineType string

// StatementLine is a movement of your money.
type StatementLine struct {
	Type   LineType `json:"type"`
	Amount Amount   `json:"amount"`
	// Credit is added to what is held for you, and Debit is taken from it.
	Credit Amount `json:"credit"`
	Debit  Amount `json:"debit"`
	// BookedAt decides its day.
	BookedAt            time.Time `json:"booked_at"`
	HappenedAt          time.Time `json:"happened_at"`
	OrderNumber         string    `json:"order_number"`
	MerchantOrderID     string    `json:"merchant_order_id"`
	GatewayPaymentID    string    `json:"gateway_payment_id"`
	GatewayTransferID   string    `json:"gateway_transfer_id"`
	GatewayRefundID     string    `json:"gateway_refund_id"`
	GatewayChargebackID string    `json:"gateway_chargeback_id"`
	UTR                 string    `json:"utr"`
	// GatewayPayoutID and PayoutUTR tell with which payout a released transfer reached your bank.
	GatewayPayoutID string `json:"gateway_payout_id"`
	PayoutUTR       string `json:"payout_utr"`
}

// Statement is a day in India: a page of its lines, and its balances.
type Statement struct {
	Page[StatementLine]
	OpeningBalance Amount `json:"opening_balance"`
	// ClosingBalance is, of a day that is not closed, the one for now.
	ClosingBalance Amount `json:"closing_balance"`
	// Closed says that nothing will be added to the day.
	Closed bool `json:"closed"`
}

// StatementQuery is which page of a statement.
type StatementQuery struct {
	// Size is how many lines one request returns: 1 to 100, the service's own number if 0.
	Size int
	// After is the Next of the page before.
	After string
}

// Statements reads what became of your money, day by day. The errors of its methods are *Error.
type Statements struct{ way *transport }

// Get is a page of a day in India, such as "2026-11-20", and the balances of the day.
func (statements *Statements) Get(ctx context.Context, date string, page StatementQuery) (Statement, error) {
	query := queryOf(map[string]string{"size": sizeText(page.Size), "after": page.After})
	return result[Statement](ctx, statements.way, get("/statements/"+segment(date), query))
}

// Lines is every line of a day. Read it when the day is closed.
func (statements *Statements) Lines(date string) *List[StatementLine] {
	query := map[string]string{"size": "100"}
	return &List[StatementLine]{way: statements.way, path: "/statements/" + segment(date), query: query}
}
