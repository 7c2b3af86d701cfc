-- The state of a merchant's application is in its row of merchants, so that each statement about an
-- application decides by the one row that it locks: a draft while PENDING without a submission, under
-- review while PENDING with one, then what was decided. A draft and a rejected application may be
-- edited.
ALTER TABLE merchants
  -- How often the merchant has submitted its application. A decision names the one that it is about.
  ADD COLUMN submissions integer NOT NULL DEFAULT 0,
  -- Counts the edits of the application and its documents. A submission names the one that it checked.
  ADD COLUMN application_edits integer NOT NULL DEFAULT 0;

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
  ifsc text,
  -- When it was last submitted.
  submitted_at timestamptz,
  CHECK ((account_number_sealed IS NULL) = (account_last_four IS NULL))
);
CREATE INDEX merchants_under_review ON merchants (merchant_id)
  WHERE status = 'PENDING' AND submissions > 0;

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
  -- AES-256-GCM for this merchant and document; see src/secret-box.ts.
  content_sealed bytea NOT NULL,
  uploaded_at timestamptz NOT NULL DEFAULT service_now(),
  UNIQUE (merchant_id, kind, sha256)
);
-- Encrypted bytes do not compress.
ALTER TABLE merchant_documents ALTER COLUMN content_sealed SET STORAGE EXTERNAL;
