-- The merchant's next sandbox POST answers 500 after it has taken effect, once: a test helper. Never read for
-- production.
ALTER TABLE merchant_environments ADD COLUMN fails_after_work boolean NOT NULL DEFAULT false;
