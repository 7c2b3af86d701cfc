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
  PRIMARY KEY (merchant_id, environment, gateway, linked_account_id)
);
CREATE VIEW shared.linked_accounts AS SELECT merchant_id, environment, gateway, linked_account_id FROM linked_accounts;
CREATE INDEX linked_accounts_to_check ON linked_accounts (check_at) WHERE environment = 'production';
-- In production an account at a gateway belongs to one merchant. Otherwise an operator could give a merchant the
-- account of another one, and what its buyers pay would go there.
CREATE UNIQUE INDEX linked_accounts_of_one_merchant ON linked_accounts (gateway, linked_account_id)
  WHERE environment = 'production';

-- When each account of a merchant is active. The first one at a gateway is active immediately; a changed one later,
-- so that the merchant can object before money goes there. For each merchant, environment and gateway, at most one
-- account waits: set_linked_account removes it when another is set. The other rows are history.
CREATE TABLE linked_account_changes (
  change_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  merchant_id text NOT NULL,
  environment environment NOT NULL,
  gateway text NOT NULL,
  linked_account_id text NOT NULL,
  -- The account is active from this time, until another one is.
  active_from timestamptz NOT NULL,
  FOREIGN KEY (merchant_id, environment, gateway, linked_account_id) REFERENCES linked_accounts
);
CREATE INDEX linked_account_changes_by_time
  ON linked_account_changes (merchant_id, environment, gateway, active_from, change_id);

-- The account that a gateway pays a merchant out to at a time; no row without one.
CREATE FUNCTION active_linked_account(
  p_merchant_id text, p_environment environment, p_gateway text, p_at timestamptz DEFAULT service_now()
) RETURNS SETOF linked_accounts LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT a.* FROM linked_account_changes c
  JOIN linked_accounts a USING (merchant_id, environment, gateway, linked_account_id)
  WHERE c.merchant_id = p_merchant_id AND c.environment = p_environment AND c.gateway = p_gateway
    AND c.active_from <= p_at
  ORDER BY c.active_from DESC, c.change_id DESC LIMIT 1
$$;

-- The change that is not active yet; no row without one.
CREATE FUNCTION waiting_linked_account(
  p_merchant_id text, p_environment environment, p_gateway text
) RETURNS SETOF linked_account_changes LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM linked_account_changes
  WHERE merchant_id = p_merchant_id AND environment = p_environment AND gateway = p_gateway
    AND active_from > service_now()
  ORDER BY active_from DESC, change_id DESC LIMIT 1
$$;

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
  RETURN EXISTS (SELECT FROM active_linked_account(p_merchant_id, p_environment, p_gateway)
    WHERE receives_transfers AND transfers_from <= service_now());
END $$;

-- Sets the account that a gateway pays a merchant out to. The first account is active immediately, a later one after
-- the delay. An account that waits is removed. Setting the active account again only removes the one that waits.
--
-- Runs with the privileges of the tables' owner, because the service's login cannot delete a change, and so no
-- history. Returns the time from which the account is active.
CREATE FUNCTION set_linked_account(
  p_merchant_id text, p_environment environment,
  p_account jsonb,    -- gateway, linked_account_id, and what the gateway reports: state, transfers_from, check_again_ms
  p_delay_ms bigint,
  p_seen jsonb        -- the accounts that the caller has seen: active_id, waiting_id; null if it has seen none
) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  p_gateway CONSTANT text := p_account->>'gateway';
  account_id CONSTANT text := p_account->>'linked_account_id';
  called_at CONSTANT timestamptz := service_now();
  active_id text;
  waiting linked_account_changes;
  new_active_from timestamptz := called_at;
BEGIN
  -- Changes of one merchant are made one after the other.
  PERFORM FROM shared.merchants WHERE merchant_id = p_merchant_id FOR NO KEY UPDATE;
  SELECT linked_account_id INTO active_id
  FROM active_linked_account(p_merchant_id, p_environment, p_gateway);
  SELECT * INTO waiting FROM waiting_linked_account(p_merchant_id, p_environment, p_gateway);
  IF p_seen IS NOT NULL AND ((p_seen->>'active_id') IS DISTINCT FROM active_id
      OR (p_seen->>'waiting_id') IS DISTINCT FROM waiting.linked_account_id) THEN
    RAISE serialization_failure USING MESSAGE = 'The linked account has changed meanwhile';
  END IF;

  INSERT INTO linked_accounts
    (merchant_id, environment, gateway, linked_account_id, state, transfers_from, check_at)
  VALUES (p_merchant_id, p_environment, p_gateway, account_id,
    (p_account->>'state')::linked_account_state, (p_account->>'transfers_from')::timestamptz,
    called_at + (p_account->>'check_again_ms')::bigint * interval '1 millisecond')
  ON CONFLICT (merchant_id, environment, gateway, linked_account_id) DO UPDATE
  SET state = excluded.state, transfers_from = excluded.transfers_from, check_at = excluded.check_at;

  IF waiting.linked_account_id = account_id THEN
    RETURN waiting.active_from;
  END IF;
  DELETE FROM linked_account_changes WHERE change_id = waiting.change_id;
  -- Another merchant may have an account that was never active.
  DELETE FROM linked_accounts a
  WHERE a.merchant_id = p_merchant_id AND a.environment = p_environment AND a.gateway = p_gateway
    AND a.linked_account_id = waiting.linked_account_id
    AND NOT EXISTS (SELECT FROM linked_account_changes c
      WHERE c.merchant_id = a.merchant_id AND c.environment = a.environment
        AND c.gateway = a.gateway AND c.linked_account_id = a.linked_account_id);
  IF active_id = account_id THEN
    RETURN called_at;
  ELSIF active_id IS NOT NULL THEN
    new_active_from := called_at + p_delay_ms * interval '1 millisecond';
  END IF;
  INSERT INTO linked_account_changes
    (merchant_id, environment, gateway, linked_account_id, active_from)
  VALUES (p_merchant_id, p_environment, p_gateway, account_id, new_active_from);
  RETURN new_active_from;
END $$;
REVOKE EXECUTE ON FUNCTION set_linked_account(text, environment, jsonb, bigint, jsonb) FROM PUBLIC;
