package payorders

import "context"

// Disputes answers the dispute of an order. The errors of its methods are *Error.
type Disputes struct{ way *transport }

// SubmitEvidence gives evidence, once for each dispute.
func (disputes *Disputes) SubmitEvidence(ctx context.Context, orderNumber, text string, options ...CallOption) (Order, error) {
	body := map[string]string{"text": text}
	return result[Order](ctx, disputes.way, post(orderPath(orderNumber, "/dispute/evidence"), body, options))
}

// Resolve says how the dispute was resolved with the buyer.
func (disputes *Disputes) Resolve(ctx context.Context, orderNumber, resolution string, options ...CallOption) (Order, error) {
	body := map[string]string{"resolution": resolution}
	return result[Order](ctx, disputes.way, post(orderPath(orderNumber, "/dispute/resolve"), body, options))
}

// Accept gives in: the buyer is refunded.
func (disputes *Disputes) Accept(ctx context.Context, orderNumber string, options ...CallOption) (Order, error) {
	body := map[string]string{}
	return result[Order](ctx, disputes.way, post(orderPath(orderNumber, "/dispute/accept"), body, options))
}
