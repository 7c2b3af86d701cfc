-- With the order number, so that the look-up of a key reads this index alone. Until the table is
-- analyzed for the first time, PostgreSQL expects every index that begins with the merchant to find one
-- row, and reads all orders of the merchant by another one: measured, 17 ms for each new order after
-- 12,000 of them.
CREATE UNIQUE INDEX orders_by_idempotency_key
  ON orders (merchant_id, environment, idempotency_key) INCLUDE (order_number);
ALTER TABLE orders DROP CONSTRAINT orders_merchant_id_environment_idempotency_key_key;
