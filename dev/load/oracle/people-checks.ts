import type { SqlChecks } from './checks.ts';

/** The account of a merchant that was active then. */
const activeAt = (at: string) => `(SELECT c.linked_account_id FROM linked_account_changes c
  WHERE c.merchant_id = o.merchant_id AND c.environment = o.environment AND c.gateway = o.gateway
    AND c.active_from <= ${at}
  ORDER BY c.active_from DESC, c.change_id DESC LIMIT 1)`;

/** When the gateway first reported the payment `p` as captured. */
const FIRST_REPORT = `least(p.captured_at, (SELECT min(received_at) FROM gateway_callbacks r
  WHERE r.gateway = p.gateway AND r.gateway_payment_id = p.gateway_payment_id
    AND r.event IN ('payment.captured', 'qr_code.credited')))`;

/** The payments of production with transfers that were made in times that are not lost. */
const TRANSFERRED = `
  SELECT p.order_number, p.gateway_payment_id, p.linked_account_id AS own_account, made.recipients,
    -- It is that of the first callback about the payment. The clocks are those of two statements.
    ARRAY[${activeAt(FIRST_REPORT)}, ${activeAt(`${FIRST_REPORT} + interval '1 second'`)}] AS active,
    EXISTS (SELECT FROM proposals r
      WHERE r.merchant_id = o.merchant_id AND r.kind = 'merchant.linkedAccount'
        AND r.parameters->>'linkedAccountId' = p.linked_account_id AND r.outcome = 'done'
        AND r.decided_by <> r.proposed_by AND r.decided_at < p.captured_at) AS is_approved
  FROM payments p JOIN orders o USING (order_number),
  LATERAL (SELECT array_agg(recipient) AS recipients FROM transfers t
    WHERE t.source = p.gateway_payment_id AND NOT pg_temp.is_lost(to_timestamp(t.created_at), 1)) made
  WHERE p.environment = 'production' AND made.recipients IS NOT NULL`;

/** Steps that only a person causes, none of which is a line by itself, and those that a deadline may cause, too. */
const IS_OF_A_PERSON = `(s.kind IN ('DELIVERY_CONFIRMED', 'DISPUTE_RAISED', 'EVIDENCE_SUBMITTED', 'DISPUTE_RESOLVED',
  'CLOCK_ADVANCED') OR s.kind IN ('ORDER_CANCELLED', 'REFUND_STARTED', 'RELEASE_STARTED') AND s.command_id IS NOT NULL)`;

/** What people did and whether they were allowed to. */
export const PEOPLE_CHECKS: SqlChecks = {
  people: [
    // Each transfer of production went to the account that two persons had approved before the payment was captured.
    `SELECT order_number AS subject, gateway_payment_id || ': ' || fault AS fault,
      ARRAY['razorpay:' || gateway_payment_id] AS about
    FROM (${TRANSFERRED}) t, LATERAL (VALUES
      (own_account IS NULL OR own_account <> ANY (recipients),
        format('a transfer went to %s, and its account is %s', recipients, own_account)),
      (NOT is_approved, format('nobody had approved its account %s before its capture', own_account)),
      ((own_account = ANY (active)) IS NOT true,
        format('its account is %s, and %s was active at its capture', own_account, active))) AS found(is_fault, fault)
    WHERE is_fault`,
    // Two persons did what needs two.
    `SELECT subject, kind || ' was carried out without the approval of another operator' AS fault FROM proposals
    WHERE (status = 'approved' AND decided_by IS NOT DISTINCT FROM proposed_by)
      OR (status <> 'approved' AND carried_out_at IS NOT NULL)`,
    `SELECT subject, kind || ' was done without a second person' AS fault FROM (
      SELECT merchant_id AS subject, action AS kind, actor, 1 AS acts FROM audit_log
      WHERE action IN ('merchant.linkedAccount', 'merchant.activate')
      UNION ALL SELECT r.subject, r.kind, 'operator:' || u.email, -1
      FROM proposals r JOIN users u ON u.user_id = r.decided_by WHERE r.outcome = 'done') AS both_sides
    GROUP BY subject, kind, actor HAVING sum(acts) > 0`,
    // Each command of a person has one line of the audit list, with actor and outcome, and its step points to it. A row
    // that was lost by a restore comes back after its step, which is no line then.
    `SELECT s.order_number AS subject,
      format('step %s, %s, has %s lines of the audit list', s.step_number, s.kind, n.lines) AS fault
    FROM order_steps s, LATERAL (SELECT count(*) AS commands,
        s.in_audit_list AND bool_or(c.written_at > s.recorded_at) IS NOT true AS is_line
      FROM order_commands c
      WHERE c.order_number = s.order_number AND c.command_id = s.command_id AND c.state = 'DONE') r,
    LATERAL (SELECT r.commands + r.is_line::integer AS lines) n
    WHERE s.step_number > 1 AND NOT pg_temp.is_lost(s.at, 1)
      AND (n.lines <> 1 OR r.is_line AND ${IS_OF_A_PERSON})`,
    // One without a step waits for its client to ask again. It has an outcome if its client was answered, unless the
    // outcome was written in lost times. Operators do not ask again after a failure. An advance of an order that has ended
    // moves only its webhook attempts.
    `SELECT c.order_number AS subject,
      format('the command %s of %s is %s, and has %s steps', c.name, c.actor, c.state, n.steps) AS fault
    FROM order_commands c, LATERAL (SELECT count(*) AS steps FROM order_steps s
      WHERE s.order_number = c.order_number AND s.command_id = c.command_id) n
    WHERE NOT pg_temp.is_lost(c.written_at, 1) AND c.actor <> 'gateway'
      AND (c.actor !~ '^((key|merchant|operator|cli):.|buyer$)'
        OR (c.actor LIKE 'key:%' AND NOT EXISTS (SELECT FROM api_keys k
          WHERE k.merchant_id = c.merchant_id AND c.actor = 'key:' || k.api_key))
        OR c.state = 'WAITING' AND (n.steps > 0 OR EXISTS (SELECT FROM known_commands k JOIN orders o USING (order_number)
          WHERE k.order_number = c.order_number AND NOT pg_temp.is_lost(k.at)
            AND c.command_id = command_id_of(o.payment_token, k.operation, k.idempotency_key)))
        OR (c.state = 'DONE' AND n.steps <> 1 AND NOT (c.name = 'advance' AND n.steps = 0
          AND EXISTS (SELECT FROM orders o WHERE o.order_number = c.order_number AND is_final(o.status)))))`,
  ],
};
