-- What a merchant enters about its business, until it is complete step by step.
CREATE TABLE merchant_applications (
  merchant_id text PRIMARY KEY REFERENCES merchants,
  legal_name text,
  business_kind text,
  pan text,
  gstin text,
  phone text,
  -- The registered address.
  street text,
  city text,
  region text,
  pin_code text,
  account_holder text,
  -- AES-256-GCM for this merchant; see src/secret-box.ts.
  account_number_sealed text,
  account_last_four text CHECK (length(account_last_four) = 4),
  -- When the number of the bank account was entered.
  account_number_at timestamptz,
  ifsc text,
  -- When it was last submitted.
  submitted_at timestamptz,
  -- What was submitted, to show an operator what has changed since the submission before. Neither has the number of the
  -- bank account, only when it was entered.
  submitted jsonb,
  submitted_before jsonb,
  CHECK ((account_number_sealed IS NULL) = (account_last_four IS NULL))
);

CREATE TYPE document_kind AS ENUM ('identity', 'business', 'bank');

CREATE TABLE merchant_documents (
  document_id text PRIMARY KEY,
  merchant_id text NOT NULL REFERENCES merchants,
  kind document_kind NOT NULL,
  -- Made by this service from the name that the browser sent.
  file_name text NOT NULL,
  -- Found in the content, not declared.
  media_type text NOT NULL,
  size_bytes integer NOT NULL,
  -- The hash of the content as it was sent, by which a file that is sent twice is found.
  sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
  -- AES-256-GCM for this merchant and document; see src/secret-box.ts. Encrypted bytes do not compress.
  content_sealed bytea STORAGE EXTERNAL NOT NULL,
  uploaded_at timestamptz NOT NULL DEFAULT service_now(),
  UNIQUE (merchant_id, kind, sha256)
);
