-- The process that recorded the event makes the first attempt itself, and the order's workflow need not
-- know of the delivery. If that attempt does not settle it, the workflow is told, by the sweep if the
-- process dies. False from the first attempt that an activity of the workflow makes.
ALTER TABLE webhook_deliveries ADD COLUMN is_direct boolean NOT NULL DEFAULT false;

-- When a process began to notify the order of a capture.
ALTER TABLE payments ADD COLUMN notified_at timestamptz;
