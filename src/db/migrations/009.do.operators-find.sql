-- What operators find orders by, whoever the merchant is, the newest first.
CREATE INDEX orders_by_any_buyer_email ON orders (lower(buyer_email), created_at, order_number);
CREATE INDEX orders_by_any_buyer_phone ON orders (buyer_phone, created_at, order_number);
CREATE INDEX orders_by_any_merchant_order_id
  ON orders (merchant_order_id, created_at, order_number)
  WHERE merchant_order_id IS NOT NULL;
CREATE INDEX payments_by_utr ON payments (utr) WHERE utr IS NOT NULL;
CREATE INDEX outside_settlements_by_reference ON outside_settlements (reference);

-- Disputes that have not ended, by their deadline: few of all orders.
CREATE INDEX orders_in_dispute ON orders (dispute_respond_by, order_number)
  WHERE status IN ('DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW');

CREATE INDEX audit_log_by_time ON audit_log (at, audit_id);
CREATE INDEX audit_log_by_subject ON audit_log (subject);
CREATE INDEX audit_log_by_actor ON audit_log (actor, at, audit_id);
CREATE INDEX audit_log_by_action ON audit_log (action, at, audit_id);
