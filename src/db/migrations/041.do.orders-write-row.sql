-- Creates write_row for a table: a function that writes a changed row, whichever of its columns changed.
-- It names every column, so a migration that adds one calls this again. An UPDATE that EXECUTE made for
-- the changed columns of each step would be planned for each step: measured, a fifth of record_step.
CREATE FUNCTION create_row_writer(p_table regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  statement text;
BEGIN
  SELECT format('UPDATE %s SET %s WHERE %s', p_table, string_agg(assignment, ', '),
    string_agg(assignment, ' AND ') FILTER (WHERE attnum = ANY (indkey)))
  INTO statement
  FROM pg_attribute JOIN pg_index ON indrelid = attrelid AND indisprimary,
    format('%1$I = changed.%1$I', attname) AS assignment
  WHERE attrelid = p_table AND attnum > 0 AND NOT attisdropped;
  EXECUTE format('CREATE OR REPLACE FUNCTION write_row(changed %s) RETURNS void LANGUAGE sql AS %L',
    p_table, statement);
END $$;

-- A migration that adds a column to orders creates this and the following view again.
SELECT create_row_writer('orders');
SELECT create_row_writer('disputes');
