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
  UNIQUE (merchant_id, environment, idempotency_key)
);

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

CREATE TYPE wakeup_cause AS ENUM ('creation', 'command', 'dispute', 'release', 'delivery');

-- Orders that their workflow must look at. Whatever leaves something for a workflow writes a line in
-- the same statement; the sweep wakes the orders whose lines are due. docs/adr/0001 says who removes a
-- line. It is a separate table, because changing a flag in orders would update all of its indexes. Of a
-- delivery, its own row is the line: see the view `wakeups`.
CREATE TABLE order_wakeups (
  order_number text NOT NULL,
  cause wakeup_cause NOT NULL,
  -- The id of the command; empty for a creation and a release.
  cause_id text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT service_now(),
  due_at timestamptz NOT NULL,
  PRIMARY KEY (order_number, cause, cause_id)
);
CREATE INDEX order_wakeups_due ON order_wakeups (due_at);

-- The timeline of an order.
CREATE TABLE order_steps (
  order_number text NOT NULL REFERENCES orders,
  step_number integer NOT NULL,
  -- The order's, for the indexes.
  merchant_id text NOT NULL REFERENCES merchants,
  kind text NOT NULL,
  at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT service_now(),
  status order_status NOT NULL,
  -- The complete step as the workflow made it. The workflow takes it over if its task was lost.
  step jsonb NOT NULL,
  command_id text,
  details jsonb,
  -- True if no command's row says who caused the step: a payment, a deadline or a result of the gateway. The step is
  -- then a line of the audit list itself.
  is_line boolean NOT NULL DEFAULT false,
  -- The request that created the order; null for other steps, which have a command.
  request_id text,
  PRIMARY KEY (order_number, step_number)
);
CREATE UNIQUE INDEX order_steps_by_command ON order_steps (order_number, command_id)
  WHERE command_id IS NOT NULL;
-- Every filter of the audit list (src/merchants/audit-log.ts) has an index in the order of the list.
CREATE INDEX order_steps_by_time ON order_steps (recorded_at)
  WHERE is_line;
CREATE INDEX order_steps_by_merchant ON order_steps (merchant_id, recorded_at)
  WHERE is_line;
CREATE INDEX order_steps_by_kind ON order_steps (kind, recorded_at)
  WHERE is_line;
-- Operators find an order by the reference of an error page.
CREATE INDEX order_steps_by_request ON order_steps (request_id) WHERE request_id IS NOT NULL;

-- A command of a client or an operator, written before the workflow receives it: so nothing
-- personal enters Temporal, and a repeat of the command is recognised. The row is the command's line in the
-- audit list. The service's login may only insert rows; end_command writes the outcome, and erase_order
-- empties body, reason and address.
CREATE TYPE command_state AS ENUM ('WAITING', 'DONE', 'REFUSED');
CREATE TABLE order_commands (
  order_number text NOT NULL REFERENCES orders,
  command_id text NOT NULL,
  -- How often a command with this id was refused before. A repeat of a refused command is a new one, so
  -- only the latest can have another state than REFUSED.
  try_number integer NOT NULL DEFAULT 0,
  -- The name of the message to the order's workflow.
  name text NOT NULL,
  -- DONE once its step is recorded.
  state command_state NOT NULL DEFAULT 'WAITING',
  body jsonb NOT NULL,
  -- Who gave it: key: and an API key, merchant: or operator: and the e-mail address of a user, cli: and a login
  -- name, buyer (the holder of the payment token), or gateway for a failed payment.
  actor text NOT NULL,
  reason text NOT NULL,
  -- The client's IP address and request; null on the command line.
  address text,
  request_id text,
  -- The order's, for the indexes.
  merchant_id text NOT NULL REFERENCES merchants,
  written_at timestamptz NOT NULL DEFAULT service_now(),
  -- When it counts as received. A dispute may count as received earlier: see receivedAtOf.
  received_at timestamptz NOT NULL DEFAULT service_now(),
  PRIMARY KEY (order_number, command_id, try_number)
);
-- Every filter of the audit list has an index in the order of the list; an order has few commands.
CREATE INDEX order_commands_by_time ON order_commands (written_at);
CREATE INDEX order_commands_by_merchant ON order_commands (merchant_id, written_at);
CREATE INDEX order_commands_by_actor ON order_commands (actor, written_at);
CREATE INDEX order_commands_by_name ON order_commands (name, written_at);
CREATE INDEX order_commands_by_request ON order_commands (request_id) WHERE request_id IS NOT NULL;

-- GET /orders: exact totals and deep pages without counting a million rows, while creating an order
-- locks nothing that another order needs: docs/adr/0006-listing-a-million-orders.md.
--
-- The orders of a merchant in an environment, oldest first, are divided into blocks of a few
-- thousand. A block begins where the previous one ends; the oldest has no beginning. Orders newer
-- than the end of the newest block are in no block: they are counted one by one.
CREATE TABLE order_blocks (
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- The orders created before this, and not before the end of the previous block.
  ends_at timestamptz NOT NULL,
  orders integer NOT NULL,
  -- The number of orders in each status, in the order of the enum.
  by_status integer[] NOT NULL,
  PRIMARY KEY (merchant_id, environment, ends_at)
) WITH (fillfactor = 50);
