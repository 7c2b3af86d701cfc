-- GET /orders?buyerEmail=…, whatever the case. The address itself is in the index too, because
-- PostgreSQL counts from an index alone only if that holds every column of the condition:
-- docs/adr/0006-listing-a-million-orders.md.
CREATE INDEX orders_by_buyer_email
  ON orders (merchant_id, environment, lower(buyer_email), created_at, order_number)
  INCLUDE (buyer_email);
