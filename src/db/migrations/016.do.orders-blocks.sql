-- GET /orders: exact totals and deep pages without counting a million rows, while creating an order
-- locks nothing that another order needs: docs/adr/0006-listing-a-million-orders.md.
--
-- The orders of a merchant in an environment, oldest first, are divided into blocks of a few
-- thousand. A block begins where the previous one ends; the oldest has no beginning. Orders newer
-- than the end of the newest block are in no block: they are counted one by one.
CREATE TABLE order_blocks (
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- The orders created before this, and not before the end of the previous block.
  ends_at timestamptz NOT NULL,
  orders integer NOT NULL,
  -- The number of orders in each status, in the order of the enum.
  by_status integer[] NOT NULL,
  PRIMARY KEY (merchant_id, environment, ends_at)
) WITH (fillfactor = 50);

CREATE FUNCTION status_number(status order_status) RETURNS integer LANGUAGE sql IMMUTABLE
AS 'SELECT array_position(enum_range(NULL::order_status), status)';

-- Counts a merchant's orders that were created before a time, by status. The blocks until then have their
-- counts; only the orders after the last of them are counted one by one.
CREATE FUNCTION count_orders_before(
  p_merchant_id text, p_environment environment, p_before timestamptz
) RETURNS TABLE (status order_status, orders bigint) LANGUAGE sql STABLE AS $$
  WITH blocks AS MATERIALIZED (
    SELECT ends_at, by_status FROM order_blocks
    WHERE merchant_id = p_merchant_id AND environment = p_environment AND ends_at <= p_before
  )
  SELECT every.status,
    (SELECT coalesce(sum(by_status[every.number]), 0) FROM blocks)
    + (SELECT count(*) FROM orders o
      WHERE o.merchant_id = p_merchant_id AND o.environment = p_environment
        AND o.status = every.status AND o.created_at < p_before
        AND o.created_at >= coalesce((SELECT max(ends_at) FROM blocks), '-infinity'))
  FROM unnest(enum_range(NULL::order_status)) WITH ORDINALITY AS every (status, number)
$$;

-- Puts the oldest orders that are in no block into a new block, once there are enough of them.
-- Returns false if there is nothing to do, or another process is doing it.
CREATE FUNCTION seal_order_block(
  p_merchant_id text, p_environment environment, p_orders integer
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  begins_at timestamptz;
  new_ends_at timestamptz;
BEGIN
  IF NOT pg_try_advisory_xact_lock(
      hashtextextended(format('order blocks %s %s', p_merchant_id, p_environment), 0)) THEN
    RETURN false;
  END IF;
  SELECT coalesce(max(ends_at), '-infinity') INTO begins_at FROM order_blocks
  WHERE merchant_id = p_merchant_id AND environment = p_environment;

  -- Only orders that are a minute old: an order that is being inserted now is not among them.
  SELECT created_at + interval '1 microsecond' INTO new_ends_at FROM orders
  WHERE merchant_id = p_merchant_id AND environment = p_environment
    AND created_at >= begins_at AND created_at < service_now() - interval '1 minute'
  ORDER BY created_at, order_number OFFSET p_orders - 1 LIMIT 1;
  IF NOT FOUND OR EXISTS (
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND backend_xid IS NOT NULL
        AND xact_start < now() - interval '1 minute') THEN
    RETURN false;
  END IF;

  -- Waits for transactions that are changing one of them, whose changes the next statement sees;
  -- later transactions see the block.
  PERFORM FROM orders
  WHERE merchant_id = p_merchant_id AND environment = p_environment
    AND created_at >= begins_at AND created_at < new_ends_at
  FOR SHARE;
  INSERT INTO order_blocks
  SELECT p_merchant_id, p_environment, new_ends_at, sum(orders), array_agg(orders ORDER BY status)
  FROM (
    SELECT every.status, count(order_number) AS orders
    FROM unnest(enum_range(NULL::order_status)) AS every (status)
    LEFT JOIN orders ON orders.status = every.status
      AND merchant_id = p_merchant_id AND environment = p_environment
      AND created_at >= begins_at AND created_at < new_ends_at
    GROUP BY every.status
  ) AS counted;
  RETURN true;
END $$;

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
