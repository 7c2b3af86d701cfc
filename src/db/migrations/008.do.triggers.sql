CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A refund can fail only after it was booked, and be booked again only after it has failed.
CREATE FUNCTION refuse_try_out_of_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger_transfers t
      WHERE t.gateway = NEW.gateway AND t.gateway_payment_id = NEW.gateway_payment_id
        AND (t.operation, t.refund_try) IN (
          SELECT 'refund', NEW.refund_try WHERE NEW.operation = 'refund_failed'
          UNION ALL SELECT 'refund_failed', NEW.refund_try - 1 WHERE NEW.operation = 'refund')) THEN
    RAISE EXCEPTION '% of try % of payment % does not follow its predecessor',
      NEW.operation, NEW.refund_try, NEW.gateway_payment_id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER ledger_tries_follow_each_other BEFORE INSERT ON ledger_transfers
  FOR EACH ROW WHEN (NEW.operation = 'refund_failed' OR NEW.refund_try > 0)
  EXECUTE FUNCTION refuse_try_out_of_order();

-- Keeps the counts of a block exact. An order in no block, such as a new one, costs a look-up.
CREATE FUNCTION count_in_block() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  block_ends_at CONSTANT timestamptz := (
    SELECT min(ends_at) FROM order_blocks
    WHERE merchant_id = NEW.merchant_id AND environment = NEW.environment
      AND ends_at > NEW.created_at);
BEGIN
  IF block_ends_at IS NULL THEN
    RETURN NULL;
  ELSIF TG_OP = 'INSERT' THEN -- An import of old orders.
    UPDATE order_blocks SET orders = orders + 1,
      by_status[status_number(NEW.status)] = by_status[status_number(NEW.status)] + 1
    WHERE merchant_id = NEW.merchant_id AND environment = NEW.environment
      AND ends_at = block_ends_at;
  ELSE
    UPDATE order_blocks SET
      by_status[status_number(OLD.status)] = by_status[status_number(OLD.status)] - 1,
      by_status[status_number(NEW.status)] = by_status[status_number(NEW.status)] + 1
    WHERE merchant_id = NEW.merchant_id AND environment = NEW.environment
      AND ends_at = block_ends_at;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_new_order AFTER INSERT ON orders
  FOR EACH ROW EXECUTE FUNCTION count_in_block();
CREATE TRIGGER count_changed_order AFTER UPDATE OF status ON orders
  FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION count_in_block();
