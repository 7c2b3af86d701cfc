package payorders

import (
	"context"
	"time"
)

// EventFilter is the filter of Events.List; an empty field matches all.
type EventFilter struct {
	Type        EventType
	OrderNumber string
	// CreatedFrom is inclusive; events are kept for 90 days.
	CreatedFrom time.Time
	// Size is how many events one request returns: 1 to 100, the service's own number if 0.
	Size int
	// After is the Next of an earlier page.
	After string
}

// Events reads what webhooks told or should have told. The errors of its methods are *Error.
type Events struct{ way *transport }

// List is events, oldest first. Keep the Next of the last page: nothing ever appears before it.
func (events *Events) List(filter EventFilter) *List[Event] {
	query := map[string]string{
		"type":        string(filter.Type),
		"orderNumber": filter.OrderNumber,
		"createdFrom": timeText(filter.CreatedFrom),
		"size":        sizeText(filter.Size),
	}
	return &List[Event]{events.way, "/events", query, filter.After}
}

// Get is one event, with the state of its delivery and its attempts.
func (events *Events) Get(ctx context.Context, eventID string) (EventDetails, error) {
	return result[EventDetails](ctx, events.way, get("/events/"+segment(eventID), nil))
}

// Resend sends the webhook once more.
func (events *Events) Resend(ctx context.Context, eventID string, options ...CallOption) error {
	return events.way.send(ctx, post("/events/"+segment(eventID)+"/resend", nil, options), nil)
}
