-- A payment's money goes to the linked account that was active when the payment was captured, whatever
-- account the merchant has later: a change of the account cannot take what is captured already.
ALTER TABLE payments ADD COLUMN linked_account_id text;

-- The account that a gateway pays a merchant out to at a time; no row without one.
CREATE FUNCTION active_linked_account(
  p_merchant_id text, p_environment environment, p_gateway text, p_at timestamptz DEFAULT service_now()
) RETURNS SETOF linked_accounts LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM linked_accounts
  WHERE merchant_id = p_merchant_id AND environment = p_environment AND gateway = p_gateway
$$;

-- write_capture inserts a payment while it has the lock of the order. The account is that of the time at which the
-- first callback reported the payment, if one has. For a merchant that had no account, the first transfer writes it.
CREATE FUNCTION freeze_linked_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT a.linked_account_id INTO NEW.linked_account_id
  FROM orders o, active_linked_account(o.merchant_id, o.environment, o.gateway, least(NEW.captured_at,
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
