-- Drops the indexes of Temporal's visibility table that no query of the service, its Schedules, worker
-- versions or the Web UI's filters by status, type, id and order reads. Temporal makes 73, and writes
-- all of them whenever an order changes its status: docs/adr/0016. Run again after each update of
-- Temporal's schema; Temporal can be asked everything also without them, by reading more rows.
DO $$
DECLARE
  unused text;
BEGIN
  FOR unused IN
    SELECT indexname FROM pg_indexes
    WHERE schemaname = current_schema() AND tablename = 'executions_visibility'
      AND indexname NOT IN (
        'executions_visibility_pkey', 'default_idx', 'by_execution_time', 'by_workflow_id',
        'by_workflow_type', 'by_status',
        -- The search attributes of orders: OrderStatus, MerchantId, Environment, DisputeCount.
        'by_keyword_01', 'by_keyword_02', 'by_keyword_03', 'by_int_01',
        -- Schedules, the separation of Temporal's own workflows, and the drainage of worker versions.
        'by_temporal_scheduled_by_id', 'by_temporal_namespace_division',
        'by_temporal_worker_deployment_version')
  LOOP
    EXECUTE format('DROP INDEX %I', unused);
  END LOOP;
END $$;
