CREATE FUNCTION webhook_origin(url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT lower(substring(url FROM '^[^/]+//[^/?#]+')) $$;

-- How many webhooks may be in progress at one endpoint: half as many after every eight consecutive
-- timeouts, and at least one.
CREATE FUNCTION webhook_slots(timeouts integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT 8 >> least(timeouts / 8, 3) $$;

-- Reserves a time for each webhook that has to wait for its endpoint, and ends its attempt until
-- then. The times of an endpoint are as far apart as its places allow, and at most ten minutes
-- ahead: a webhook without a time until then is tried again shortly before.
CREATE FUNCTION reserve_webhook_attempts(p_waiting jsonb)
RETURNS TABLE (token text, wait_ms double precision)
LANGUAGE plpgsql AS $$
DECLARE
  horizon CONSTANT interval := '10 minutes';
  -- A webhook that found every place taken waits at least this long.
  busy_wait CONSTANT interval := '3 seconds';
  unknown_attempt_ms CONSTANT double precision := 500;
  now_at CONSTANT timestamptz := service_now();
  ids CONSTANT text[] := ARRAY(SELECT jsonb_path_query(p_waiting, '$[*].deliveryId') #>> '{}');
  asked record;
  endpoint webhook_endpoints;
  first_at timestamptz;
  expected_ms double precision;
  gap interval;
BEGIN
  -- In the order of their origins, so that two of these calls never wait for each other.
  FOR asked IN
    SELECT w.origin, count(*) AS waiting, bool_or(w."isBusy") AS is_busy,
      max(w."expectedMs") AS expected_ms
    FROM jsonb_to_recordset(p_waiting)
      AS w (origin text, "isBusy" boolean, "expectedMs" double precision)
    GROUP BY w.origin ORDER BY w.origin
  LOOP
    INSERT INTO webhook_endpoints (origin, next_free_at, attempt_ms)
    VALUES (asked.origin, now_at, coalesce(asked.expected_ms, unknown_attempt_ms))
    ON CONFLICT (origin) DO NOTHING;
    SELECT * INTO STRICT endpoint FROM webhook_endpoints e WHERE e.origin = asked.origin FOR UPDATE;

    -- While others wait, their measurements of the endpoint count, too.
    expected_ms := CASE WHEN endpoint.timeouts > 0 OR endpoint.next_free_at > now_at
      THEN greatest(endpoint.attempt_ms, asked.expected_ms)
      ELSE coalesce(asked.expected_ms, endpoint.attempt_ms) END;
    gap := expected_ms / webhook_slots(endpoint.timeouts) * interval '1 millisecond';
    first_at := greatest(endpoint.next_free_at,
      CASE WHEN asked.is_busy THEN now_at + busy_wait ELSE now_at END);

    UPDATE webhook_endpoints e SET
      attempt_ms = expected_ms,
      next_free_at = least(first_at + asked.waiting * gap, greatest(first_at, now_at + horizon))
    WHERE e.origin = asked.origin;

    RETURN QUERY
    WITH waiting AS (
      -- The oldest first: a delivery's id is a ULID.
      SELECT w.*, first_at + (row_number() OVER (ORDER BY w."deliveryId") - 1) * gap AS free_at
      FROM jsonb_to_recordset(p_waiting)
        AS w ("deliveryId" text, token text, origin text, "now" timestamptz)
      WHERE w.origin = asked.origin
    ), timed AS (
      SELECT w.*, w.free_at <= now_at + horizon AS has_time,
        CASE WHEN w.free_at <= now_at + horizon THEN w.free_at
          ELSE now_at + horizon * (0.8 + 0.2 * random()) END - now_at AS wait
      FROM waiting w
    )
    UPDATE webhook_deliveries d SET
      attempt_token = NULL, attempt_until = NULL,
      has_reservation = t.has_time, next_attempt_at = t."now" + t.wait
    FROM timed t
    WHERE d.delivery_id = t."deliveryId" AND d.delivery_id = ANY (ids)
      AND d.attempt_token = t.token
    RETURNING t.token, extract(epoch FROM t.wait)::double precision * 1000;
  END LOOP;
END $$;

-- Records the results of attempts at their endpoints. A success restores all places of an endpoint,
-- and moves its next free time forward if it was reserved while the endpoint was slower.
CREATE FUNCTION record_endpoint_results(p_attempts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  now_at CONSTANT timestamptz := service_now();
  seen record;
  endpoint webhook_endpoints;
  timeouts_after integer;
  attempt_ms_after double precision;
  gaps_ratio double precision;
BEGIN
  FOR seen IN
    SELECT w.origin, bool_or(w."isDelivered") AS is_delivered,
      count(*) FILTER (WHERE w."isTimedOut") AS timed_out,
      greatest(1, coalesce(
        avg(w."durationMs") FILTER (WHERE w."isDelivered"), avg(w."durationMs"))) AS attempt_ms
    FROM jsonb_to_recordset(p_attempts) AS w (origin text, "isDelivered" boolean,
      "isTimedOut" boolean, "durationMs" double precision)
    GROUP BY w.origin ORDER BY w.origin
  LOOP
    IF seen.timed_out > 0 THEN
      INSERT INTO webhook_endpoints (origin, next_free_at, attempt_ms)
      VALUES (seen.origin, now_at, seen.attempt_ms)
      ON CONFLICT (origin) DO NOTHING;
    END IF;
    SELECT * INTO endpoint FROM webhook_endpoints e WHERE e.origin = seen.origin FOR UPDATE;
    CONTINUE WHEN NOT FOUND;

    timeouts_after := CASE WHEN seen.is_delivered THEN 0
      ELSE endpoint.timeouts + seen.timed_out END;
    attempt_ms_after := CASE WHEN seen.is_delivered AND endpoint.timeouts > 0 THEN seen.attempt_ms
      ELSE (endpoint.attempt_ms + seen.attempt_ms) / 2 END;
    gaps_ratio := attempt_ms_after / webhook_slots(timeouts_after)
      / (endpoint.attempt_ms / webhook_slots(endpoint.timeouts));
    UPDATE webhook_endpoints e SET
      timeouts = timeouts_after, attempt_ms = attempt_ms_after,
      next_free_at = CASE WHEN e.next_free_at <= now_at THEN e.next_free_at
        ELSE now_at + (e.next_free_at - now_at) * least(1, gaps_ratio) END
    WHERE e.origin = seen.origin;
  END LOOP;
END $$;
