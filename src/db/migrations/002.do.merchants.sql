CREATE TYPE merchant_status AS ENUM ('PENDING', 'APPROVED', 'REJECTED', 'SUSPENDED');

CREATE TABLE merchants (
  merchant_id text PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL,
  status merchant_status NOT NULL DEFAULT 'PENDING',
  -- It was approved, and that was revoked: true until it is approved again, also while a new application is PENDING.
  approval_revoked boolean NOT NULL DEFAULT false,
  status_reason text,
  -- The state of its application is in this row, too, so that each statement about an application decides by the one
  -- row that it locks: a draft while PENDING without a submission, under review while PENDING with one, then what was
  -- decided. A draft and a rejected application may be edited.
  --
  -- How often the merchant has submitted its application. A decision names the one that it is about.
  submissions integer NOT NULL DEFAULT 0,
  -- Counts the edits of the application and its documents. A submission names the one that it checked.
  application_edits integer NOT NULL DEFAULT 0,
  -- The payment gateway of new orders, by its adapter's name. It is the same in both environments,
  -- so that a merchant tests the gateway that it uses in production.
  gateway text NOT NULL DEFAULT 'razorpay',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX merchants_under_review ON merchants (merchant_id)
  WHERE status = 'PENDING' AND submissions > 0;

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
CREATE VIEW shared.merchants AS SELECT merchant_id, name, email, status, status_reason, submissions, application_edits,
  gateway, created_at, access_status_of(m) AS access_status FROM merchants m;

-- One key pair for each merchant and environment. The secret is kept only as an HMAC.
CREATE TABLE api_keys (
  api_key text PRIMARY KEY,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  secret_hmac bytea NOT NULL CHECK (octet_length(secret_hmac) = 32),
  -- Which pepper made the HMAC: see src/merchants/keys/credentials.ts. NULL: not known.
  pepper_id text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  rotated_at timestamptz,
  -- Written at most once a minute.
  last_used_at timestamptz,
  UNIQUE (merchant_id, environment)
);
CREATE VIEW shared.api_keys AS SELECT merchant_id, environment FROM api_keys;

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
CREATE VIEW shared.merchant_environments AS SELECT merchant_id, environment, webhook_url, webhook_secret_sealed,
  updated_at FROM merchant_environments;
