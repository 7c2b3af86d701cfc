package payorders

import (
	"context"
	"iter"
)

// Page is a page of a list, and the cursor of the next one.
type Page[Item any] struct {
	Content []Item `json:"content"`
	// Next is empty at the end of a list of orders.
	Next string `json:"next"`
}

// List is every item of a list, one request after the other.
type List[Item any] struct {
	way   *transport
	path  string
	query map[string]string
	after string
}

func (list *List[Item]) read(ctx context.Context, after string) (Page[Item], error) {
	query := queryOf(list.query)
	if after != "" {
		query.Set("after", after)
	}
	return result[Page[Item]](ctx, list.way, get(list.path, query))
}

// Page reads the page after the cursor of the filter.
func (list *List[Item]) Page(ctx context.Context) (Page[Item], error) {
	return list.read(ctx, list.after)
}

// All ranges over the items. An error ends it:
//
//	for order, err := range client.Orders.List(filter).All(ctx) {
func (list *List[Item]) All(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		after := list.after
		for {
			page, err := list.read(ctx, after)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range page.Content {
				if !yield(item, nil) {
					return
				}
			}
			// A page of a filtered list can be empty before the end; the cursor stays at the end.
			if page.Next == "" || page.Next == after {
				return
			}
			after = page.Next
		}
	}
}
