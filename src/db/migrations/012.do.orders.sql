CREATE TYPE order_status AS ENUM (
  'ACCEPTED', 'PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW',
  'COMPLETED', 'REFUNDED', 'CANCELLED'
);

-- True if operators look at an order because it was disputed so often.
CREATE FUNCTION is_disputed_often(disputes integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT disputes >= 3
$$;

-- What functions, views, indexes and statements have to know of the lifecycle in src/domain. test/db/rules.test.ts
-- compares each with the domain, and refuses another list of statuses in the schema.
--
-- True if an order of this status never changes again. The index orders_open has it in its condition: a migration that
-- changes this makes the index again.
CREATE FUNCTION is_final(status order_status) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT status IN ('COMPLETED', 'REFUNDED', 'CANCELLED')
$$;
-- True while a payment would make an order of this status PAID.
CREATE FUNCTION takes_payment(status order_status) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT status = 'ACCEPTED'
$$;

-- The API writes a row once; then only the order's workflow changes it, step by step. The exceptions are in
-- docs/who-writes-what.md. They are columns of this table because PostgreSQL checks only conditions on the row
-- itself again when an UPDATE had to wait for another one.
CREATE TABLE orders (
  order_number text PRIMARY KEY,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- The payment gateway, by its adapter's name. It is set at creation and never changes. The ids
  -- that a gateway gives, here and in all other tables, are unique only together with the gateway.
  gateway text NOT NULL,
  idempotency_key text NOT NULL,
  request_hash bytea NOT NULL,
  merchant_order_id text,
  amount_paise bigint NOT NULL CHECK (amount_paise BETWEEN 500 AND 1000000),
  description text NOT NULL,
  buyer_email text NOT NULL,
  buyer_phone text NOT NULL,
  buyer_name text NOT NULL DEFAULT '',
  -- The language in which the buyer has read the order's page when paying. Mails to the buyer are in it.
  buyer_language text NOT NULL DEFAULT 'en' CHECK (buyer_language IN ('en', 'hi')),
  payment_token text NOT NULL UNIQUE,
  status order_status NOT NULL DEFAULT 'ACCEPTED',
  pending_operation jsonb,
  -- 1 is ORDER_CREATED, which the same statement records.
  step_number integer NOT NULL DEFAULT 1,
  dispute_count integer NOT NULL DEFAULT 0,
  -- The payment that made it PAID. The UTR is its reference at banks and in UPI apps.
  gateway_payment_id text,
  payment_utr text,
  paid_at timestamptz,
  -- Refunded or charged back at the gateway itself: see gateway_reversals.
  reversed_paise bigint NOT NULL DEFAULT 0 CHECK (reversed_paise >= 0),
  -- The URL that the buyer's pages link back to, as the merchant gave it. It may name the buyer.
  return_url text,
  payment_link_expires_at timestamptz NOT NULL,
  completes_at timestamptz,
  -- The completes_at for which a release was tried and has to wait.
  release_tried_for timestamptz,
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
  -- Set once by erase_order: no personal column has a value from then on.
  erased_at timestamptz,
  CONSTRAINT erased_order_has_no_personal_data CHECK (erased_at IS NULL OR (
    (buyer_email, buyer_phone, buyer_name, description) = ('', '', '', '')
    AND num_nonnulls(cancel_reason, return_url) = 0))
);
CREATE VIEW shared.orders AS SELECT order_number, merchant_id, environment, gateway, merchant_order_id, amount_paise,
  status, pending_operation, step_number, gateway_payment_id, payment_link_expires_at, completes_at,
  refund_amount_paise, refund_reason, refund_processed_at, open_session_id, updated_at, erased_at FROM orders;

-- GET /orders reads this index backwards, newest first.
CREATE INDEX orders_by_merchant ON orders (merchant_id, environment, created_at, order_number);
CREATE INDEX orders_by_status
  ON orders (merchant_id, environment, status, created_at, order_number);
CREATE INDEX orders_by_merchant_order_id
  ON orders (merchant_id, environment, merchant_order_id, created_at, order_number)
  WHERE merchant_order_id IS NOT NULL;
-- The comparison with the running workflows reads the orders whose status is not final.
CREATE INDEX orders_open ON orders (order_number, status)
  WHERE NOT is_final(status);
-- Operators look at the orders that are disputed again and again, while their money is held.
CREATE INDEX orders_disputed_often ON orders (status, order_number)
  WHERE is_disputed_often(dispute_count);
-- GET /orders?buyerEmail=…, whatever the case. The address itself is in the index too, because
-- PostgreSQL counts from an index alone only if that holds every column of the condition:
-- docs/adr/0006-listing-a-million-orders.md.
CREATE INDEX orders_by_buyer_email
  ON orders (merchant_id, environment, lower(buyer_email), created_at, order_number)
  INCLUDE (buyer_email);
-- Operators search the orders of all merchants, newest first.
CREATE INDEX orders_by_any_buyer_email ON orders (lower(buyer_email), created_at, order_number);
CREATE INDEX orders_by_any_buyer_phone ON orders (buyer_phone, created_at, order_number);
CREATE INDEX orders_by_any_merchant_order_id
  ON orders (merchant_order_id, created_at, order_number)
  WHERE merchant_order_id IS NOT NULL;
-- Orders that are closing, releasing or refunding, those that have done so for longest first.
CREATE INDEX orders_pending ON orders (updated_at, order_number)
  WHERE pending_operation IS NOT NULL;
-- Orders whose dispute window runs: the release of one that is over may not have begun.
CREATE INDEX orders_by_completion ON orders (completes_at, order_number)
  WHERE completes_at IS NOT NULL;
-- Orders whose refund has failed and is not made again: see has_failed_refund.
CREATE INDEX orders_refund_failed ON orders (gateway, gateway_payment_id)
  WHERE status = 'REFUNDED' AND refund_processed_at IS NULL;
-- Earlier disputes between a buyer and a merchant: a small part of all orders.
CREATE INDEX orders_disputed_by_email
  ON orders (merchant_id, environment, lower(buyer_email), created_at) WHERE dispute_count > 0;
CREATE INDEX orders_disputed_by_phone
  ON orders (merchant_id, environment, buyer_phone, created_at) WHERE dispute_count > 0;
-- With the order number, so that the look-up of a key reads this index alone. Until the table is
-- analyzed for the first time, PostgreSQL expects every index that begins with the merchant to find one
-- row, and reads all orders of the merchant by another one: measured, 17 ms for each new order after
-- 12,000 of them.
CREATE UNIQUE INDEX orders_by_idempotency_key
  ON orders (merchant_id, environment, idempotency_key) INCLUDE (order_number);
