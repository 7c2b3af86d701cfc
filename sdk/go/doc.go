// Package payorders is a client of the Merchant Payment Order Service, and a receiver of its webhooks.
package payorders
