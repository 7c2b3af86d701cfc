-- The disputes of an order, and what was said and decided in each. Only record_step writes them, with
-- the step. The view orders_with_dispute shows an order with the latest one.
CREATE TABLE disputes (
  order_number text NOT NULL REFERENCES orders,
  -- Counts from 1 on each order: orders.dispute_count when it was raised.
  number integer NOT NULL,
  -- The order's, for the indexes.
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- The texts are null once the buyer's data is erased.
  reason text,
  -- buyer, or the operator who raised it for the buyer.
  raised_by text NOT NULL,
  raised_at timestamptz NOT NULL,
  -- Null once it has ended.
  respond_by timestamptz,
  -- Only an operator ends it for the merchant: it is under review from its beginning.
  operator_decides boolean NOT NULL DEFAULT false,
  evidence text,
  evidence_at timestamptz,
  -- The merchant's text, if the merchant resolved it.
  resolution text,
  decided_for text CHECK (decided_for IN ('merchant', 'buyer')),
  decided_by text,
  decision_reason text,
  decided_at timestamptz,
  -- Known when it ends or, if the buyer is refunded, when the refund begins.
  ending text CHECK (ending IN ('resolved_by_merchant', 'decided_for_merchant', 'decided_for_buyer',
    'accepted_by_merchant', 'not_resolved_in_time', 'settled_by_operator')),
  ended_at timestamptz,
  PRIMARY KEY (order_number, number)
);
-- Running disputes by their deadline.
CREATE INDEX disputes_running ON disputes (respond_by, order_number) WHERE ended_at IS NULL;
-- The same of one merchant, and its disputes that have ended.
CREATE INDEX disputes_running_by_merchant
  ON disputes (merchant_id, environment, respond_by, order_number) WHERE ended_at IS NULL;
CREATE INDEX disputes_ended_by_merchant
  ON disputes (merchant_id, environment, ended_at, order_number) WHERE ended_at IS NOT NULL;
-- The number of a merchant's disputes, of all and of some days.
CREATE INDEX disputes_by_raising ON disputes (merchant_id, environment, raised_at);

-- As the CHECK of orders: no text of an erased order's dispute has a value from then on.
CREATE FUNCTION refuse_text_of_erased_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM orders
      WHERE order_number = NEW.order_number AND erased_at IS NOT NULL) THEN
    RAISE check_violation USING MESSAGE = 'The data of order ' || NEW.order_number || ' was erased';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER disputes_of_erased_orders BEFORE INSERT OR UPDATE ON disputes FOR EACH ROW
  WHEN (num_nonnulls(NEW.reason, NEW.evidence, NEW.resolution, NEW.decision_reason) > 0)
  EXECUTE FUNCTION refuse_text_of_erased_order();

-- Why the buyer of an order can raise no other dispute: see DisputeLimit in src/orders/steps/disputes.ts. Null if it
-- can. Operators, who raise disputes for buyers, have no such limit. PL/pgSQL keeps the plan of the query.
CREATE FUNCTION dispute_limit_of(p_order_number text, p_most integer) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT CASE WHEN count(*) FILTER (WHERE raised_by = 'buyer') >= p_most THEN 'most'
    WHEN bool_or(decided_for = 'merchant') THEN 'decided' END
  FROM disputes WHERE order_number = p_order_number);
END $$;

-- An order with its latest dispute. A migration that adds a column to orders creates this view again.
CREATE VIEW orders_with_dispute AS
SELECT o.*, d.reason AS dispute_reason, d.raised_at AS dispute_raised_at,
  d.respond_by AS dispute_respond_by, d.evidence AS dispute_evidence,
  d.resolution AS dispute_resolution, d.decided_for AS dispute_decided_for,
  d.decision_reason AS dispute_decision_reason, d.decided_at AS dispute_decided_at,
  d.ended_at AS dispute_ended_at,
  CASE WHEN d.operator_decides AND d.ended_at IS NULL THEN
    CASE WHEN d.evidence_at IS NULL THEN 'reviewedWithoutEvidence' ELSE 'reviewedWithEvidence' END
  END AS operator_review
FROM orders o
LEFT JOIN disputes d ON d.order_number = o.order_number AND d.number = o.dispute_count;
