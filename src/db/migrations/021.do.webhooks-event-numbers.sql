-- The numbers by which merchants follow their events: 1, 2, 3 and so on for each merchant and environment,
-- in the order in which number_events finds them committed (docs/adr/0019).

-- How many events have a number. Its row is locked while events are numbered.
CREATE TABLE event_counters (
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  last_number bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (merchant_id, environment)
);
CREATE VIEW shared.event_counters AS SELECT merchant_id, environment, last_number FROM event_counters;

CREATE TABLE event_numbers (
  merchant_id text NOT NULL,
  environment environment NOT NULL,
  event_id text NOT NULL,
  -- The order of the inserts. For the events of one order, it is also the order of their commits.
  insert_number bigint GENERATED ALWAYS AS IDENTITY,
  -- NULL until the event is committed and a merchant reads.
  number bigint,
  -- Never decreases with the number.
  numbered_at timestamptz,
  PRIMARY KEY (merchant_id, environment, event_id)
);
CREATE INDEX event_numbers_missing ON event_numbers (merchant_id, environment, insert_number)
  WHERE number IS NULL;
CREATE UNIQUE INDEX event_numbers_by_number ON event_numbers (merchant_id, environment, number)
  WHERE number IS NOT NULL;

-- An event that is written again after its order was restored keeps its number.
CREATE FUNCTION expect_event_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO event_numbers (merchant_id, environment, event_id)
  SELECT merchant_id, environment, NEW.event_id FROM shared.orders WHERE order_number = NEW.order_number
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER expect_event_number AFTER INSERT ON order_events
  FOR EACH ROW EXECUTE FUNCTION expect_event_number();

-- Numbers the committed events of a merchant that have no number yet, at most p_most of them. The counter's
-- row is locked first, so that of two calls the second sees what the first has numbered; and each statement
-- of a volatile function sees what was committed before it began. So a number that is visible has all smaller
-- numbers visible, too: an event that is committed later gets a larger number, however long it was open.
CREATE FUNCTION number_events(
  p_merchant_id text, p_environment environment, p_most integer
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last bigint;
  numbered bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM event_numbers
      WHERE merchant_id = p_merchant_id AND environment = p_environment AND number IS NULL) THEN
    RETURN;
  END IF;
  INSERT INTO event_counters (merchant_id, environment) VALUES (p_merchant_id, p_environment)
  ON CONFLICT DO NOTHING;
  SELECT last_number INTO STRICT last FROM event_counters
  WHERE merchant_id = p_merchant_id AND environment = p_environment FOR UPDATE;
  -- By ctid, because a plan for few rows would search the index of missing numbers for each event. The rows
  -- cannot have moved: only this function changes them.
  UPDATE event_numbers e SET number = last + missing.position, numbered_at = service_now()
  FROM (
    SELECT ctid, row_number() OVER (ORDER BY insert_number) AS position FROM event_numbers
    WHERE merchant_id = p_merchant_id AND environment = p_environment AND number IS NULL
    ORDER BY insert_number LIMIT p_most
  ) AS missing
  WHERE e.ctid = missing.ctid;
  GET DIAGNOSTICS numbered = ROW_COUNT;
  UPDATE event_counters SET last_number = last + numbered
  WHERE merchant_id = p_merchant_id AND environment = p_environment;
END $$;

-- The number before that of every event of a merchant which happened at p_from or later. Numbers are given
-- after the event, so it is found by the time of the numbering; the clocks of the processes that date
-- events may differ by five minutes. A few earlier events may follow it.
CREATE FUNCTION number_before(
  p_merchant_id text, p_environment environment, p_from timestamptz
) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  low bigint := 0;
  high bigint := coalesce((SELECT last_number FROM event_counters
    WHERE merchant_id = p_merchant_id AND environment = p_environment), 0);
  middle bigint;
BEGIN
  WHILE low < high LOOP
    middle := (low + high + 1) / 2;
    IF EXISTS (SELECT FROM event_numbers
        WHERE merchant_id = p_merchant_id AND environment = p_environment AND number = middle
          AND numbered_at < p_from - interval '5 minutes') THEN
      low := middle;
    ELSE
      high := middle - 1;
    END IF;
  END LOOP;
  RETURN low;
END $$;
