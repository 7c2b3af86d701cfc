-- A refund made at the gateway without this service, or a chargeback by the buyer's bank, with the
-- gateway's id.
CREATE TABLE gateway_reversals (
  gateway text NOT NULL,
  reversal_id text NOT NULL,
  gateway_payment_id text NOT NULL,
  order_number text NOT NULL REFERENCES orders,
  kind text NOT NULL CHECK (kind IN ('refund', 'chargeback')),
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  state text NOT NULL CHECK (
    (kind = 'refund' AND state IN ('pending', 'processed', 'failed'))
    OR (kind = 'chargeback' AND state IN ('open', 'won', 'lost'))),
  -- The money has left. The ledger has a line for it, if an account had its money.
  has_left boolean NOT NULL GENERATED ALWAYS AS (state IN ('processed', 'lost')) STORED,
  -- The money has left or may leave: the funds are not released meanwhile.
  blocks_release boolean NOT NULL
    GENERATED ALWAYS AS (state IN ('pending', 'processed', 'open', 'lost')) STORED,
  -- The amount of its ledger line: less than amount_paise only if less of the payment was left.
  booked_paise bigint NOT NULL DEFAULT 0 CHECK (booked_paise BETWEEN 0 AND amount_paise),
  -- The rest of a lost chargeback, which the platform pays: what a refund by this service had taken, or takes later.
  platform_paise bigint NOT NULL DEFAULT 0
    CHECK (platform_paise BETWEEN 0 AND amount_paise - booked_paise),
  recorded_at timestamptz NOT NULL DEFAULT service_now(),
  -- When the gateway was asked that has last returned this state; null of a callback's report.
  asked_at timestamptz,
  -- When its end was recorded.
  ended_at timestamptz,
  -- When the gateway first said that the money has come back. Its state and its ledger line stay.
  came_back_at timestamptz,
  -- When one that has not ended was last checked at the gateway.
  checked_at timestamptz,
  PRIMARY KEY (gateway, reversal_id),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments
);
CREATE VIEW shared.gateway_reversals AS SELECT gateway, reversal_id, gateway_payment_id, order_number, kind,
  amount_paise, state, has_left, blocks_release, booked_paise, platform_paise, recorded_at, ended_at
FROM gateway_reversals;
CREATE INDEX gateway_reversals_by_payment ON gateway_reversals (gateway, gateway_payment_id);
CREATE INDEX gateway_reversals_by_order ON gateway_reversals (order_number);
CREATE INDEX gateway_reversals_by_id ON gateway_reversals (reversal_id);
CREATE INDEX gateway_reversals_undecided ON gateway_reversals (checked_at) WHERE state IN ('open', 'pending');

-- True while a chargeback of a payment is undecided.
CREATE FUNCTION is_charged_back(p_gateway text, p_gateway_payment_id text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway_reversals r
    WHERE r.gateway = p_gateway AND r.gateway_payment_id = p_gateway_payment_id
      AND r.kind = 'chargeback' AND r.state = 'open')
$$;

-- True if a reversal at the gateway has reduced a payment, or may reduce it.
CREATE FUNCTION is_reversed(p_gateway text, p_gateway_payment_id text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway_reversals r
    WHERE r.gateway = p_gateway AND r.gateway_payment_id = p_gateway_payment_id
      AND r.blocks_release)
$$;
