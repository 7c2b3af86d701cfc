-- A feature reads the table of another one through the view with the same name in this schema, which has only the
-- columns that others read. The view stands with its table: test/db/owners.test.ts.
CREATE SCHEMA IF NOT EXISTS shared;

-- The database's clock decides whether something was received in time. It is a function, so that
-- tests can move it together with Temporal's skipped time.
CREATE FUNCTION service_now() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT clock_timestamp()';

-- The day of a moment in Indian time, by which a merchant's figures are grouped.
CREATE FUNCTION indian_day(at timestamptz) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT (at AT TIME ZONE 'Asia/Kolkata')::date $$;

CREATE TYPE environment AS ENUM ('sandbox', 'production');

-- The trigger of an append-only table.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
