-- How alerts and audit rows name something of a gateway's; gatewaySubject in
-- src/payments/gateway/gateways.ts is the same.
CREATE FUNCTION gateway_subject(gateway text, id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT gateway || ':' || id
$$;

-- A capture that the gateway's API has returned; a callback alone writes none. Reconciliation checks it until its
-- order has taken it or it is refunded.
CREATE TABLE payments (
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
  environment environment NOT NULL,
  order_number text NOT NULL REFERENCES orders,
  session_id text REFERENCES payment_sessions,
  -- A payment's money goes to the linked account that was active when the payment was captured, whatever account the
  -- merchant has later: a change of the account cannot take what is captured already.
  linked_account_id text,
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  -- As the gateway last reported it, until an order took it or its surplus refund began.
  currency text NOT NULL DEFAULT 'INR',
  gateway_status text NOT NULL DEFAULT 'captured',
  refunded_paise bigint NOT NULL DEFAULT 0 CHECK (refunded_paise >= 0),
  -- True if the whole amount is captured in INR. Any other capture neither makes an order PAID nor is refunded as
  -- surplus: it is recorded and raises an alert, and has no ledger line.
  is_whole boolean NOT NULL GENERATED ALWAYS AS
    (gateway_status = 'captured' AND currency = 'INR' AND refunded_paise = 0) STORED,
  -- Its reference at banks and in UPI apps, if the gateway reports it.
  utr text,
  -- When the gateway's API was asked that first returned it; after a callback, when that was stored.
  captured_at timestamptz NOT NULL DEFAULT service_now(),
  -- When a process last began to notify the order of it, or to continue its refund.
  claimed_at timestamptz,
  -- The process that is moving this money at the gateway: see src/payments/funds/money-lease.ts.
  money_lease_token text,
  money_lease_ends_at timestamptz,
  -- Until then a request of the service whose outcome is unknown may still reach the gateway: a settlement waits.
  money_unknown_until timestamptz,
  -- When a hold of the funds at the gateway was last tried.
  hold_started_at timestamptz,
  -- When the gateway refused the hold; the service tries again an hour later.
  hold_refused_at timestamptz,
  held_at timestamptz,
  -- Its transfers that were accepted and failed later, and that operators were told of.
  transfer_failures integer NOT NULL DEFAULT 0,
  -- When the gateway last refused its transfer or refund because the platform's balance is too small; null once
  -- either was made, or was refused for another reason.
  balance_refused_at timestamptz,
  -- What the gateway has charged the platform for it and for its transfer, with the tax in it; null while
  -- the gateway's API has not reported it.
  fee_paise bigint CHECK (fee_paise >= 0),
  transfer_fee_paise bigint CHECK (transfer_fee_paise >= 0),
  -- The gateway's ids of its transfer and of this service's latest refund of it, once they are made.
  gateway_transfer_id text,
  gateway_refund_id text,
  -- The amount of that refund; null once it has failed before it was booked.
  gateway_refund_paise bigint,
  PRIMARY KEY (gateway, gateway_payment_id)
);
CREATE INDEX payments_by_order ON payments (order_number);
-- Reconciliation reads this index every minute.
CREATE INDEX payments_by_time ON payments (captured_at);
CREATE INDEX payments_unheld ON payments (captured_at) WHERE held_at IS NULL;
CREATE INDEX payments_lacking_balance ON payments (gateway, environment, balance_refused_at)
  WHERE balance_refused_at IS NOT NULL;
CREATE INDEX payments_by_utr ON payments (utr) WHERE utr IS NOT NULL;
-- Who asks about a payment, its transfer or its refund knows the id, and not the gateway.
CREATE INDEX payments_by_id ON payments (gateway_payment_id);
CREATE INDEX payments_by_transfer ON payments (gateway_transfer_id)
  WHERE gateway_transfer_id IS NOT NULL;
CREATE INDEX payments_by_refund ON payments (gateway_refund_id)
  WHERE gateway_refund_id IS NOT NULL;

-- write_capture inserts a payment while it has the lock of the order. The account is that of the time at which the
-- first callback reported the payment, if one has. For a merchant that had no account, the first transfer writes it.
CREATE FUNCTION freeze_linked_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT a.linked_account_id INTO NEW.linked_account_id
  FROM shared.orders o, active_linked_account(o.merchant_id, o.environment, o.gateway, least(NEW.captured_at,
    (SELECT min(c.received_at) FROM gateway_callbacks c WHERE c.gateway = NEW.gateway
      AND c.gateway_payment_id = NEW.gateway_payment_id AND c.is_unconfirmed))) a
  WHERE o.order_number = NEW.order_number;
  RETURN NEW;
END $$;
CREATE TRIGGER freeze_linked_account BEFORE INSERT ON payments
  FOR EACH ROW EXECUTE FUNCTION freeze_linked_account();

CREATE FUNCTION refuse_other_linked_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The linked account of payment % does not change', OLD.gateway_payment_id;
END $$;
CREATE TRIGGER frozen_linked_account BEFORE UPDATE OF linked_account_id ON payments FOR EACH ROW
  WHEN (OLD.linked_account_id IS NOT NULL AND NEW.linked_account_id IS DISTINCT FROM OLD.linked_account_id)
  EXECUTE FUNCTION refuse_other_linked_account();
