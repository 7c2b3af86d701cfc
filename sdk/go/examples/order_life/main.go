// An order goes through its life in the sandbox.
//
// PAYORDERS_API_KEY, PAYORDERS_API_SECRET and PAYORDERS_BASE_URL are what `npm start` prints.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"example.com/payorders"
)

func main() {
	client, err := payorders.New(payorders.Options{
		Environment: payorders.EnvironmentSandbox,
		APIKey:      os.Getenv("PAYORDERS_API_KEY"),
		APISecret:   os.Getenv("PAYORDERS_API_SECRET"),
		BaseURL:     os.Getenv("PAYORDERS_BASE_URL"),
	})
	if err == nil {
		err = live(context.Background(), client)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func live(ctx context.Context, client *payorders.Client) error {
	// The id of your own order, which you save first.
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	shopOrder := fmt.Sprintf("SHOP-%x", random)

	amount, err := payorders.ParseAmount("499.50")
	if err != nil {
		return err
	}
	kurta := payorders.CreateOrder{
		Amount:          amount,
		BuyerEmail:      "asha@example.com",
		BuyerPhone:      "+919876543210",
		Description:     "Blue kurta, size M",
		MerchantOrderID: shopOrder,
	}
	key := payorders.IdempotencyKey(shopOrder + "-create")
	order, err := client.Orders.Create(ctx, kurta, key)
	if err != nil {
		return err
	}
	number := order.OrderNumber
	fmt.Println("created", order.Status, order.Amount)

	// The same call returns the same order: after a crash, too.
	again, err := client.Orders.Create(ctx, kurta, key)
	if err != nil {
		return err
	}
	fmt.Println("again", again.OrderNumber == number)

	if err := deliverAndDispute(ctx, client, number); err != nil {
		return err
	}
	if err := cancelAnother(ctx, client, kurta); err != nil {
		return err
	}
	if err := printEvents(ctx, client, number); err != nil {
		return err
	}

	_, err = client.Orders.Deliver(ctx, number, payorders.Delivery{})
	printError(err)
	kurta.Amount = 400
	_, err = client.Orders.Create(ctx, kurta)
	printError(err)
	kurta.Amount = 700
	_, err = client.Orders.Create(ctx, kurta, key)
	printError(err)
	return nil
}

func deliverAndDispute(ctx context.Context, client *payorders.Client, number string) error {
	steps := []struct {
		name string
		act  func() (payorders.Order, error)
	}{
		{"paid", func() (payorders.Order, error) { return client.Sandbox().Pay(ctx, number) }},
		{"delivered", func() (payorders.Order, error) {
			return client.Orders.Deliver(ctx, number, payorders.Delivery{TrackingID: "IN1"})
		}},
		{"disputed", func() (payorders.Order, error) {
			return client.Sandbox().Dispute(ctx, number, "It never arrived here")
		}},
		{"evidence", func() (payorders.Order, error) {
			return client.Disputes.SubmitEvidence(ctx, number, "A photo of the delivery")
		}},
		{"resolved", func() (payorders.Order, error) {
			return client.Disputes.Resolve(ctx, number, "A new one is on its way")
		}},
	}
	for _, step := range steps {
		order, err := step.act()
		if err != nil {
			return err
		}
		fmt.Println(step.name, order.Status)
	}
	timeline, err := client.Orders.Timeline(ctx, number)
	if err == nil && timeline.Next != nil {
		fmt.Println("next", timeline.Next.Action)
	}
	return err
}

func cancelAnother(ctx context.Context, client *payorders.Client, order payorders.CreateOrder) error {
	// A 500 after the work was done: the client repeats the call, and nothing is done twice.
	if err := client.Sandbox().FailAfterWork(ctx); err != nil {
		return err
	}
	second, err := client.Orders.Create(ctx, order)
	if err != nil {
		return err
	}
	opened, err := client.Orders.OpenPaymentSession(ctx, second.OrderNumber)
	if err != nil {
		return err
	}
	session, err := client.Orders.GetPaymentSession(ctx, second.OrderNumber, opened.SessionID)
	if err != nil {
		return err
	}
	fmt.Println("session", session.Status)
	count := 0
	filter := payorders.OrderFilter{MerchantOrderID: order.MerchantOrderID, Size: 1}
	for _, err := range client.Orders.List(filter).All(ctx) {
		if err != nil {
			return err
		}
		count++
	}
	fmt.Println("listed", count)
	cancelled, err := client.Orders.Cancel(ctx, second.OrderNumber, "Sold out")
	if err != nil {
		return err
	}
	fmt.Println("cancelled", cancelled.Status)
	return nil
}

func printEvents(ctx context.Context, client *payorders.Client, number string) error {
	filter := payorders.EventFilter{OrderNumber: number, Size: 2}
	for event, err := range client.Events.List(filter).All(ctx) {
		if err != nil {
			return err
		}
		fmt.Println("event", event.Sequence, event.Type)
	}
	page, err := client.Events.List(filter).Page(ctx)
	if err != nil {
		return err
	}
	details, err := client.Events.Get(ctx, page.Content[0].EventID)
	if err == nil {
		fmt.Println("details", details.Event.Type)
	}
	return err
}

func printError(err error) {
	var wrong *payorders.Error
	if errors.As(err, &wrong) {
		fields := slices.Sorted(maps.Keys(wrong.Fields))
		fmt.Println("error", wrong.Status, wrong.Code, strings.Join(fields, ","))
	}
}
