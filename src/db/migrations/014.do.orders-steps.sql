-- The timeline of an order.
CREATE TABLE order_steps (
  order_number text NOT NULL REFERENCES orders,
  step_number integer NOT NULL,
  -- The order's, for the indexes.
  merchant_id text NOT NULL REFERENCES merchants,
  kind text NOT NULL,
  at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT service_now(),
  status order_status NOT NULL,
  -- The whole step. The workflow takes it over if its task was lost.
  step jsonb NOT NULL,
  command_id text,
  details jsonb,
  -- True if no command's row says who caused the step: a payment, a deadline or a result of the gateway. The step is
  -- then a line of the audit list itself.
  in_audit_list boolean NOT NULL DEFAULT false,
  -- The request that created the order; null for other steps, which have a command.
  request_id text,
  PRIMARY KEY (order_number, step_number)
);
CREATE VIEW shared.order_steps AS SELECT order_number, step_number, merchant_id, kind, at, recorded_at, command_id,
  details, in_audit_list FROM order_steps;
CREATE UNIQUE INDEX order_steps_by_command ON order_steps (order_number, command_id)
  WHERE command_id IS NOT NULL;
-- Every filter of the audit list (src/merchants/audit-log.ts) has an index in the order of the list.
CREATE INDEX order_steps_by_time ON order_steps (recorded_at)
  WHERE in_audit_list;
CREATE INDEX order_steps_by_merchant ON order_steps (merchant_id, recorded_at)
  WHERE in_audit_list;
CREATE INDEX order_steps_by_kind ON order_steps (kind, recorded_at)
  WHERE in_audit_list;
-- Operators find an order by the reference of an error page.
CREATE INDEX order_steps_by_request ON order_steps (request_id) WHERE request_id IS NOT NULL;
