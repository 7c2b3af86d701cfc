-- The database's clock decides whether something was received in time. It is a function, so that
-- tests can move it together with Temporal's skipped time.
CREATE FUNCTION service_now() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT clock_timestamp()';

-- The day of a moment in Indian time, by which a merchant's figures are grouped.
CREATE FUNCTION indian_day(at timestamptz) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT (at AT TIME ZONE 'Asia/Kolkata')::date $$;

CREATE TYPE environment AS ENUM ('sandbox', 'production');
CREATE TYPE merchant_status AS ENUM ('PENDING', 'APPROVED', 'REJECTED', 'SUSPENDED');

CREATE TABLE merchants (
  merchant_id text PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL,
  status merchant_status NOT NULL DEFAULT 'PENDING',
  -- It was approved, and that was revoked: true until it is approved again, also while a new application is PENDING.
  approval_revoked boolean NOT NULL DEFAULT false,
  status_reason text,
  -- The payment gateway of new orders, by its adapter's name. It is the same in both environments,
  -- so that a merchant tests the gateway that it uses in production.
  gateway text NOT NULL DEFAULT 'razorpay',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION keep_revocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.approval_revoked := NEW.status <> 'APPROVED' AND (OLD.approval_revoked
    OR (NEW.status = 'REJECTED' AND OLD.status IN ('APPROVED', 'SUSPENDED')));
  RETURN NEW;
END $$;
CREATE TRIGGER keep_revocation BEFORE UPDATE OF status ON merchants
  FOR EACH ROW EXECUTE FUNCTION keep_revocation();

-- The status that decides what a merchant may do: one whose approval was revoked is treated like a suspended one,
-- because its orders and disputes continue.
CREATE FUNCTION access_status_of(m merchants) RETURNS merchant_status LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN m.approval_revoked THEN 'SUSPENDED' ELSE m.status END
$$;

-- One key pair for each merchant and environment. The secret is kept only as an HMAC.
CREATE TABLE api_keys (
  api_key text PRIMARY KEY,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  secret_hmac bytea NOT NULL CHECK (octet_length(secret_hmac) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  rotated_at timestamptz,
  -- Written at most once a minute.
  last_used_at timestamptz,
  UNIQUE (merchant_id, environment)
);

-- What a merchant configures for an environment. An empty list of origins allows every origin.
CREATE TABLE merchant_environments (
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  allowed_origins text[] NOT NULL DEFAULT '{}',
  webhook_url text CHECK (length(webhook_url) <= 2048),
  -- AES-256-GCM: key id, 12-byte nonce, ciphertext and 16-byte tag; see src/secret-box.ts.
  webhook_secret_sealed text,
  -- The merchant's next sandbox POST answers 500 after it has taken effect, once: a test helper. Never read for
  -- production.
  fails_after_work boolean NOT NULL DEFAULT false,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (merchant_id, environment)
);

-- What a gateway reports of a linked account; see src/payments/funds/linked-accounts.ts.
CREATE TYPE linked_account_state AS ENUM ('activated', 'waiting', 'suspended', 'unknown', 'missing');

-- Where a gateway pays a merchant out to. An account stays when the merchant moves to another
-- gateway: orders keep the gateway that they were created with. The gateway is asked for an account of
-- production, never for one of the sandbox.
CREATE TABLE linked_accounts (
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  gateway text NOT NULL,
  linked_account_id text NOT NULL,
  state linked_account_state NOT NULL DEFAULT 'unknown',
  -- The gateway makes no transfers to it before this time.
  transfers_from timestamptz NOT NULL DEFAULT service_now(),
  -- When reconciliation asks the gateway again.
  check_at timestamptz NOT NULL DEFAULT service_now(),
  -- Once it is old enough.
  receives_transfers boolean NOT NULL GENERATED ALWAYS AS (state IN ('activated', 'unknown')) STORED,
  PRIMARY KEY (merchant_id, environment, gateway)
);
CREATE INDEX linked_accounts_to_check ON linked_accounts (check_at) WHERE environment = 'production';

-- Whether a merchant can take payments at a gateway. In production, payments are paid out to the linked
-- account, which must receive transfers; the sandbox opens one when it first needs it. Each request to the
-- API calls it; PL/pgSQL keeps the query's plan, because nothing but the query is in its expression.
CREATE FUNCTION is_merchant_ready(
  p_merchant_id text, p_environment environment, p_gateway text
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_environment = 'sandbox' THEN
    RETURN true;
  END IF;
  RETURN EXISTS (SELECT FROM linked_accounts
    WHERE merchant_id = p_merchant_id AND environment = p_environment AND gateway = p_gateway
      AND receives_transfers AND transfers_from <= service_now());
END $$;

-- Changes and their actors. Rows are never deleted, and contain no secret.
CREATE TABLE audit_log (
  audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL,
  -- The client's IP address; null on the command line.
  address text,
  action text NOT NULL,
  merchant_id text,
  subject text,
  details jsonb NOT NULL DEFAULT '{}'
);
-- Every filter of a list has an index in the order of the list.
CREATE INDEX audit_log_by_merchant ON audit_log (merchant_id, at, audit_id);
CREATE INDEX audit_log_by_time ON audit_log (at, audit_id);
CREATE INDEX audit_log_by_subject ON audit_log (subject, at, audit_id);
CREATE INDEX audit_log_by_actor ON audit_log (actor, at, audit_id);
CREATE INDEX audit_log_by_action ON audit_log (action, at, audit_id);

-- What needs an operator: one open row for each kind and subject.
CREATE TABLE alerts (
  alert_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  -- An order number, a gateway and its payment id, …
  subject text NOT NULL,
  -- How often it was raised, and when first and last.
  count integer NOT NULL DEFAULT 1,
  first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The details when it was last raised.
  details jsonb NOT NULL,
  cleared_at timestamptz,
  -- The operator, or the part of the service that found the cause fixed.
  cleared_by text
);
CREATE UNIQUE INDEX alerts_open ON alerts (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX alerts_by_subject ON alerts (subject);

-- Raises an alert, or counts that the open one was raised again. A writer whose condition is seen only once calls it
-- in its own transaction, so that no process dies between the two.
CREATE FUNCTION raise_alert(p_kind text, p_subject text, p_details jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO alerts (kind, subject, details) VALUES (p_kind, p_subject, p_details)
  ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO UPDATE
  SET count = alerts.count + 1, last_at = clock_timestamp(), details = excluded.details
$$;

-- When each client was last admitted, shared by all API processes (RATE_LIMIT_STORE=postgres).
-- Unlogged: a crash of the database loses one second of admissions. The fill factor leaves room on
-- a page for the next version of a row, which each request updates.
CREATE UNLOGGED TABLE rate_limits (
  client text PRIMARY KEY,
  admitted_at timestamptz[] NOT NULL
) WITH (fillfactor = 50);
