package payorders

import "context"

// Sandbox plays the buyer, the bank and an operator, and moves an order's clock. The errors of its methods are *Error.
type Sandbox struct{ way *transport }

func (sandbox *Sandbox) send(ctx context.Context, path string, body, result any) error {
	if sandbox == nil {
		return &Error{Message: "The test helpers exist in the sandbox only", Code: CodeWrongEnvironment}
	}
	return sandbox.way.send(ctx, post("/test-helpers"+path, body, nil), result)
}

func (sandbox *Sandbox) help(ctx context.Context, orderNumber, helper string, body any) (Order, error) {
	var order Order
	err := sandbox.send(ctx, orderPath(orderNumber, "/"+helper), body, &order)
	return order, err
}

// Pay pays as the buyer.
func (sandbox *Sandbox) Pay(ctx context.Context, orderNumber string) (Order, error) {
	return sandbox.help(ctx, orderNumber, "pay", nil)
}

// FailPayment lets the buyer's payment fail.
func (sandbox *Sandbox) FailPayment(ctx context.Context, orderNumber string) (Order, error) {
	return sandbox.help(ctx, orderNumber, "fail-payment", nil)
}

// Dispute raises a dispute as the buyer, with a reason of 10 to 2000 characters.
func (sandbox *Sandbox) Dispute(ctx context.Context, orderNumber, reason string) (Order, error) {
	return sandbox.help(ctx, orderNumber, "dispute", reasonBody{reason})
}

// Advance moves the order's clock, and its webhook retries with it: 1 second to 30 days.
func (sandbox *Sandbox) Advance(ctx context.Context, orderNumber string, seconds int) (Order, error) {
	return sandbox.help(ctx, orderNumber, "advance", map[string]int{"seconds": seconds})
}

// Decide decides the dispute as an operator, for "merchant" or "buyer".
func (sandbox *Sandbox) Decide(ctx context.Context, orderNumber, winner string) (Order, error) {
	return sandbox.help(ctx, orderNumber, "decide", map[string]string{"for": winner})
}

// Chargeback lets the buyer's bank take the payment back, or decide about it: "open", "won" or "lost".
func (sandbox *Sandbox) Chargeback(ctx context.Context, orderNumber, outcome string) (Order, error) {
	return sandbox.help(ctx, orderNumber, "chargeback", map[string]string{"outcome": outcome})
}

// LatePayment pays an order that cannot take it any more.
func (sandbox *Sandbox) LatePayment(ctx context.Context, orderNumber string) (Order, error) {
	return sandbox.help(ctx, orderNumber, "late-payment", nil)
}

// SecondPayment pays once more.
func (sandbox *Sandbox) SecondPayment(ctx context.Context, orderNumber string) (Order, error) {
	return sandbox.help(ctx, orderNumber, "second-payment", nil)
}

// FailRefund lets the refund of a REFUNDED order fail at the bank; it is made again.
func (sandbox *Sandbox) FailRefund(ctx context.Context, orderNumber string) (Order, error) {
	return sandbox.help(ctx, orderNumber, "fail-refund", nil)
}

// FailAfterWork lets the next POST answer 500 after it has taken effect, once: this client then retries it.
func (sandbox *Sandbox) FailAfterWork(ctx context.Context) error {
	return sandbox.send(ctx, "/fail-after-work", nil, nil)
}
