CREATE TYPE order_status AS ENUM (
  'ACCEPTED', 'PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW',
  'COMPLETED', 'REFUNDED', 'CANCELLED'
);

-- Written by the API once, and after that only by the order's workflow, step by step.
-- waiting_dispute_* and open_session_id are the exceptions: they are what the API has written down
-- for the workflow to find. They stand on this row, not in a table of their own, because only a
-- condition on the row itself is looked at again when an UPDATE had to wait for another one.
CREATE TABLE orders (
  order_number text PRIMARY KEY,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- The payment gateway, by its adapter's name: chosen at creation, kept for life. The gateway's own
  -- ids, of this row and of all other tables, are unique only together with it.
  gateway text NOT NULL,
  idempotency_key text NOT NULL,
  request_hash bytea NOT NULL,
  merchant_order_id text,
  amount_paise bigint NOT NULL CHECK (amount_paise BETWEEN 500 AND 1000000),
  description text NOT NULL,
  buyer_email text NOT NULL,
  buyer_phone text NOT NULL,
  buyer_name text NOT NULL DEFAULT '',
  payment_token text NOT NULL UNIQUE,
  status order_status NOT NULL DEFAULT 'ACCEPTED',
  busy jsonb,
  -- 1 is ORDER_CREATED, which is recorded with the row.
  step_number integer NOT NULL DEFAULT 1,
  dispute_count integer NOT NULL DEFAULT 0,
  -- The payment that made it PAID; the UTR is by what banks and UPI apps name it.
  gateway_payment_id text,
  payment_utr text,
  paid_at timestamptz,
  payment_link_expires_at timestamptz NOT NULL,
  completes_at timestamptz,
  dispute_reason text,
  dispute_raised_at timestamptz,
  dispute_respond_by timestamptz,
  dispute_evidence text,
  -- How the latest dispute ended: the merchant's own words, or an operator's decision.
  dispute_resolution text,
  dispute_decided_for text CHECK (dispute_decided_for IN ('merchant', 'buyer')),
  dispute_decision_reason text,
  dispute_decided_at timestamptz,
  dispute_ended_at timestamptz,
  refund_amount_paise bigint,
  refund_reason text,
  refund_processed_at timestamptz,
  cancelled_by text CHECK (cancelled_by IN ('merchant', 'expiry')),
  cancel_reason text,
  cancelled_at timestamptz,
  waiting_dispute_id text,
  waiting_dispute_received_at timestamptz,
  open_session_id text,
  terms jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  UNIQUE (merchant_id, environment, idempotency_key)
);

-- GET /orders reads them backwards, newest first.
CREATE INDEX orders_by_merchant ON orders (merchant_id, environment, created_at, order_number);
CREATE INDEX orders_by_status
  ON orders (merchant_id, environment, status, created_at, order_number);
CREATE INDEX orders_by_merchant_order_id
  ON orders (merchant_id, environment, merchant_order_id, created_at, order_number)
  WHERE merchant_order_id IS NOT NULL;
-- What is compared with the workflows that run; the statuses are those that are not final.
CREATE INDEX orders_open ON orders (order_number, status)
  WHERE status NOT IN ('COMPLETED', 'REFUNDED', 'CANCELLED');
-- What the sweeper looks for: normally empty.
CREATE INDEX orders_with_waiting_dispute ON orders (waiting_dispute_received_at)
  WHERE waiting_dispute_id IS NOT NULL;
-- GET /orders?buyerEmail=…, whatever the case. The address itself is in the index too, because
-- PostgreSQL counts from an index alone only if that holds every column of the condition:
-- docs/adr/0006-listing-a-million-orders.md.
CREATE INDEX orders_by_buyer_email
  ON orders (merchant_id, environment, lower(buyer_email), created_at, order_number)
  INCLUDE (buyer_email);
-- What operators find orders by, whoever the merchant is, the newest first.
CREATE INDEX orders_by_any_buyer_email ON orders (lower(buyer_email), created_at, order_number);
CREATE INDEX orders_by_any_buyer_phone ON orders (buyer_phone, created_at, order_number);
CREATE INDEX orders_by_any_merchant_order_id
  ON orders (merchant_order_id, created_at, order_number)
  WHERE merchant_order_id IS NOT NULL;
-- Disputes that have not ended, by their deadline: few of all orders.
CREATE INDEX orders_in_dispute ON orders (dispute_respond_by, order_number)
  WHERE status IN ('DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW');

-- Orders whose workflow has not begun: written with the order, removed by the first thing that its
-- workflow does. A table of its own, because to mark the order's row would write every index of it.
CREATE TABLE unstarted_orders (
  order_number text PRIMARY KEY REFERENCES orders,
  created_at timestamptz NOT NULL
);

-- What happened to an order, in order: the timeline.
CREATE TABLE order_steps (
  order_number text NOT NULL REFERENCES orders,
  step_number integer NOT NULL,
  kind text NOT NULL,
  at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT service_now(),
  status order_status NOT NULL,
  -- The whole step, as the workflow made it: what counts when its workflow task was lost.
  step jsonb NOT NULL,
  -- Recorded for an Update of which nobody has heard the answer yet: its workflow task may be lost,
  -- and with it the Update, so that the workflow does not know of this step. See ADR 1.
  unheard boolean NOT NULL,
  request_id text,
  details jsonb,
  PRIMARY KEY (order_number, step_number)
);
-- What the sweeper looks for: normally nothing for longer than a moment.
CREATE INDEX order_steps_unheard ON order_steps (recorded_at) WHERE unheard;
CREATE UNIQUE INDEX order_steps_by_request ON order_steps (order_number, request_id)
  WHERE request_id IS NOT NULL;

-- What a request asks for, written before the workflow hears of it: nothing personal enters
-- Temporal, and a repeat of the request is known by its row.
CREATE TABLE order_requests (
  order_number text NOT NULL REFERENCES orders,
  request_id text NOT NULL,
  body jsonb NOT NULL,
  -- Who asks, and why: a merchant's id, or cli: and an operator's name. Money is moved on a person's
  -- word only with both. Null where nobody has to answer for it.
  actor text,
  reason text,
  received_at timestamptz NOT NULL DEFAULT service_now(),
  PRIMARY KEY (order_number, request_id)
);

-- GET /orders: exact totals and deep pages without counting a million rows, while creating an order
-- locks nothing that another order needs. Why it is so: docs/adr/0006-listing-a-million-orders.md.
--
-- The orders of a merchant in an environment, oldest first, are cut into blocks of a few thousand.
-- A block begins where the one before it ends; the oldest has no beginning. Orders newer than the
-- end of the newest block are in none: they are counted one by one.
CREATE TABLE order_blocks (
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- The orders created before this, from the end of the block before on.
  ends_at timestamptz NOT NULL,
  orders integer NOT NULL,
  -- How many of them have each status, in the order of the type.
  by_status integer[] NOT NULL,
  PRIMARY KEY (merchant_id, environment, ends_at)
) WITH (fillfactor = 50);
