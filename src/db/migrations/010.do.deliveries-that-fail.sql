-- "Retry all that failed since" looks here for those that are PENDING still: what succeeded costs
-- nothing.
CREATE INDEX webhook_attempts_failed ON webhook_attempts (at) WHERE error IS NOT NULL;
