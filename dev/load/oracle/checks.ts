import type { Check } from './report.ts';

/**
 * Queries whose rows are faults, by check, each with the columns `subject` and `fault` and, if it has it, `about` (see
 * Violation). They read the database and the tables of `facts.ts`.
 */
export type SqlChecks = Partial<Record<Check, readonly string[]>>;

/** The attempts of each delivery. An event that no scheduled attempt has delivered is FAILED after five of them. */
const DELIVERIES = `
  SELECT e.event_id, e.order_number, e.type, d.state, m.webhook_url IS NOT NULL AS has_url, a.scheduled, a.accepted,
    r.accepted AS accepted_by_endpoint,
    -- The bytes that arrived, unless the database lost the event, and made it again.
    NOT pg_temp.is_lost(r.at) AND r.body_hashes <> ARRAY[encode(sha256(convert_to(e.body, 'UTF8')), 'hex')]
      AS has_changed
  FROM order_events e JOIN orders o USING (order_number)
  LEFT JOIN merchant_environments m USING (merchant_id, environment)
  LEFT JOIN webhook_deliveries d USING (event_id)
  LEFT JOIN arrived_events r USING (event_id),
  LATERAL (SELECT count(*) FILTER (WHERE kind = 'scheduled') AS scheduled, count(*) FILTER (WHERE is_delivered) AS accepted
    FROM webhook_attempts WHERE delivery_id = d.delivery_id) a`;

/** Faults of commands that were answered, except those of lost times. */
const commandFaults = (fault: string, where: string) =>
  `SELECT order_number AS subject, ${fault} AS fault FROM (
    SELECT c.*, ARRAY(SELECT s.kind FROM order_steps s
      WHERE s.order_number = c.order_number
        AND s.command_id = command_id_of(o.payment_token, c.operation, c.idempotency_key)
      ORDER BY s.step_number) AS steps
    FROM known_commands c JOIN orders o USING (order_number) WHERE NOT pg_temp.is_lost(c.at)) c WHERE ${where}`;

/** Orders, commands, steps, events and deliveries. */
export const CHECKS: SqlChecks = {
  lost: [
    // What merchants were answered.
    `SELECT order_number AS subject, 'its creation was acknowledged' AS fault FROM known_orders
      WHERE order_number NOT IN (SELECT order_number FROM orders)`,
    `SELECT order_number AS subject,
        format('its endpoint received %s, which the database does not have', event_id) AS fault
      FROM arrived_events WHERE NOT pg_temp.is_lost(at) AND event_id NOT IN (SELECT event_id FROM order_events)`,
    commandFaults(
      `operation || ' was acknowledged, and has no step'`,
      // Of an order that has ended, only the webhook attempts move.
      `status < 300 AND cardinality(steps) = 0 AND NOT (operation = 'advance' AND EXISTS (SELECT FROM order_steps s
        WHERE s.order_number = c.order_number AND is_final(s.status) AND s.recorded_at <= c.at))`,
    ),
  ],
  duplicate: [
    `SELECT order_number AS subject, 'its merchant never sent its key' AS fault FROM orders
      WHERE merchant_id IN (SELECT merchant_id FROM known_orders)
        AND (merchant_id, idempotency_key) NOT IN (SELECT merchant_id, idempotency_key FROM known_orders)`,
    `SELECT order_number AS subject, 'was answered to another key, ' || k.idempotency_key AS fault
      FROM known_orders k JOIN orders o USING (order_number)
      WHERE (o.merchant_id, o.idempotency_key) <> (k.merchant_id, k.idempotency_key)`,
    `SELECT order_number AS subject, format('its key was also answered %s', order_numbers[2:]) AS fault
      FROM known_orders WHERE cardinality(order_numbers) > 1`,
    commandFaults(
      `format('%s has the steps %s', operation, steps)`,
      `status < 300 AND cardinality(steps) > 0 AND steps <> ARRAY[step]`,
    ),
  ],
  status: [
    `SELECT order_number AS subject, format('is %s, and must be %s', o.status, k.final_status) AS fault
      FROM known_orders k JOIN orders o USING (order_number) WHERE o.status::text <> k.final_status`,
  ],
  illegal: [
    // Each row and its steps; replay.ts has the domain's rules, and finds a step that is missing before others.
    `SELECT order_number AS subject, format('the columns of step %s differ from its JSON', step_number) AS fault
      FROM order_steps WHERE (step->>'kind', step->>'status', step->>'number')
        IS DISTINCT FROM (kind, status::text, step_number::text)`,
    `SELECT order_number AS subject, format('its row says %s, its last step %s', ofrow, ofstep) AS fault
      FROM orders_with_dispute o
      LEFT JOIN LATERAL (SELECT step_number, step FROM order_steps s WHERE s.order_number = o.order_number
        ORDER BY step_number DESC LIMIT 1) s ON true,
      LATERAL (SELECT jsonb_strip_nulls(jsonb_build_object('number', o.step_number, 'status', o.status,
          'operation', o.pending_operation, 'disputes', o.dispute_count,
          'deadline', round(extract(epoch FROM CASE s.step->'deadline'->>'kind'
            WHEN 'payment_link' THEN o.payment_link_expires_at WHEN 'completion' THEN o.completes_at
            WHEN 'dispute_answer' THEN o.dispute_respond_by END) * 1000))) AS ofrow,
        jsonb_strip_nulls(jsonb_build_object('number', s.step_number, 'status', s.step->'status',
          'operation', s.step->'pendingOperation', 'disputes', s.step->'disputeCount',
          'deadline', s.step->'deadline'->'atMs')) AS ofstep) said
      WHERE ofrow <> ofstep`,
  ],
  event: [
    // The events of each order: one for each step that has one, numbered without gaps.
    `SELECT order_number AS subject, format('its steps have the events %s; there are %s', s.events, e.events) AS fault
      FROM (SELECT order_number, array_agg(format('%s %s of step %s', step->'event'->>'sequence',
          step->'event'->>'type', step_number) ORDER BY step_number) AS events,
          array_agg((step->'event'->>'sequence')::integer ORDER BY step_number) AS numbers
        FROM order_steps WHERE step->'event'->>'type' IS NOT NULL GROUP BY order_number) s
      FULL JOIN (SELECT order_number, array_agg(format('%s %s of step %s', sequence, type, step_number)
          ORDER BY sequence) AS events FROM order_events GROUP BY order_number) e USING (order_number)
      WHERE s.events IS DISTINCT FROM e.events
        OR s.numbers <> ARRAY(SELECT generate_series(1, cardinality(s.numbers)))`,
    `SELECT order_number AS subject, format('the body of %s names %s', own, named) AS fault
      FROM order_events, LATERAL (SELECT concat_ws(' ', event_id, sequence, type, order_number) AS own,
        concat_ws(' ', body::jsonb->>'event_id', body::jsonb->>'sequence', body::jsonb->>'event',
          body::jsonb->'data'->>'order_number') AS named) said
      WHERE own <> named`,
  ],
  delivery: [
    `SELECT order_number AS subject, format('%s %s', type, CASE WHEN state IS NULL THEN 'has no delivery'
          WHEN has_changed THEN 'arrived with other bytes than the database has'
          WHEN state = 'DELIVERED' AND accepted > 0 THEN 'is DELIVERED, but its endpoint accepted none'
          ELSE format('is %s after %s scheduled attempts, %s accepted', state, scheduled, accepted) END) AS fault
      FROM (${DELIVERIES}) d
      WHERE CASE WHEN state IS NULL THEN has_url
        ELSE has_changed IS TRUE OR NOT (state = 'DELIVERED' AND accepted > 0 AND coalesce(accepted_by_endpoint, 0) > 0
          OR state = 'FAILED' AND scheduled = 5 AND accepted = 0) END`,
  ],
  'under way': [
    `SELECT order_number AS subject, 'is still ' || status AS fault FROM orders
      WHERE status IN ('DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW')
        AND (SELECT is_open FROM allowed)`,
  ],
  surprise: [
    `SELECT subject, fault FROM surprises`,
    commandFaults(
      `format('%s was refused with %s, and has %s', operation, status, steps)`,
      `status >= 300 AND cardinality(steps) > 0 AND NOT (operation = 'pay' AND (SELECT is_open FROM allowed))`,
    ),
  ],
};
