import { join } from 'node:path';
import { emailKeyOf } from '../../../src/accounts/people/users.ts';
import type { Sql } from '../../../src/db/client.ts';
import { createMailStore } from '../../mailbox/store.ts';
import { violation, type Violation } from './report.ts';
import type { CheckedService } from './service.ts';

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
      WHERE r.merchant_id = o.merchant_id AND r.kind IN ('merchant.linkedAccount', 'merchant.approve')
        AND r.parameters->>'linkedAccountId' = p.linked_account_id AND r.outcome = 'done'
        AND r.decided_by <> r.proposed_by AND r.decided_at < p.captured_at)
    OR EXISTS (SELECT FROM audit_log done JOIN audit_log alone USING (merchant_id, actor)
      WHERE done.merchant_id = o.merchant_id AND done.action = 'merchant.approve'
        AND done.details->'linkedAccounts'->>'production' = p.linked_account_id
        AND alone.action = 'break-glass' AND done.at < p.captured_at
        AND alone.at BETWEEN done.at - interval '1 second' AND done.at + interval '1 second') AS is_approved
  FROM payments p JOIN orders o USING (order_number),
  LATERAL (SELECT array_agg(recipient) AS recipients FROM transfers t
    WHERE t.source = p.gateway_payment_id AND NOT pg_temp.is_lost(to_timestamp(t.created_at), 1)) made
  WHERE p.environment = 'production' AND made.recipients IS NOT NULL`;

const transferred = (fault: string, where: string) =>
  `SELECT order_number AS subject, gateway_payment_id || ': ' || ${fault} AS fault,
    ARRAY['razorpay:' || gateway_payment_id] AS about FROM (${TRANSFERRED}) t WHERE ${where}`;

/** Steps that only a person causes, none of which is a line by itself, and those that a deadline may cause, too. */
const IS_OF_A_PERSON = `(s.kind IN ('DELIVERY_CONFIRMED', 'DISPUTE_RAISED', 'EVIDENCE_SUBMITTED', 'DISPUTE_RESOLVED',
  'CLOCK_ADVANCED') OR s.kind IN ('ORDER_CANCELLED', 'REFUND_STARTED', 'RELEASE_STARTED') AND s.command_id IS NOT NULL)`;

/** What people did and whether they were allowed to. */
export const PEOPLE_CHECKS: readonly string[] = [
  // Each transfer of production went to the account that two persons, or one alone with an alert, had approved before
  // the payment was captured.
  transferred(
    `format('a transfer went to %s, and its account is %s', recipients, own_account)`,
    `own_account IS NULL OR own_account <> ANY (recipients)`,
  ),
  transferred(
    `format('nobody had approved its account %s before its capture', own_account)`,
    `NOT is_approved`,
  ),
  transferred(
    `format('its account is %s, and %s was active at its capture', own_account, active)`,
    `(own_account = ANY (active)) IS NOT true`,
  ),
  // Two persons did what needs two, or one did it alone, which is allowed in an emergency.
  `SELECT subject, kind || ' was carried out without the approval of another operator' AS fault FROM proposals
    WHERE (status = 'approved' AND decided_by IS NOT DISTINCT FROM proposed_by)
      OR (status <> 'approved' AND carried_out_at IS NOT NULL)`,
  `WITH acts AS (
      SELECT coalesce(details->>'email', merchant_id) AS subject, actor,
        CASE action WHEN 'merchant.approve' THEN 'merchant.linkedAccount' ELSE action END AS kind
      FROM audit_log WHERE action IN ('merchant.linkedAccount', 'merchant.activate', 'operator.role',
          'operator.reactivate')
        OR (action = 'merchant.approve' AND details->'linkedAccounts'->>'production' IS NOT NULL)
    ), permissions AS (
      SELECT r.subject, r.kind, 'operator:' || u.email AS actor
      FROM proposals r JOIN users u ON u.user_id = r.decided_by WHERE r.outcome = 'done'
      UNION ALL SELECT subject, details->>'kind', actor FROM audit_log WHERE action = 'break-glass'
    )
    SELECT subject, kind || ' was done without a second person, and not with --break-glass' AS fault FROM (
      SELECT subject, kind, actor, 1 AS acts, 0 AS permissions FROM acts
      UNION ALL SELECT subject, kind, actor, 0, 1 FROM permissions) AS both_sides
    GROUP BY subject, kind, actor HAVING sum(acts) > sum(permissions)`,
  // One who acted alone left an alert; the mails are in `loneActViolations`.
  `SELECT subject, format('%s did %s alone, and there is no alert', actor, details->>'kind') AS fault
    FROM audit_log l WHERE action = 'break-glass' AND NOT EXISTS (SELECT FROM alerts a
      WHERE a.kind = 'break_glass_used' AND a.subject = l.subject AND a.last_at >= l.at - interval '1 second')`,
  // Each command of a person has one line of the audit list, with actor and outcome, and its step points to it.
  `SELECT s.order_number AS subject,
      format('step %s, %s, has %s lines of the audit list', s.step_number, s.kind, n.lines) AS fault
    FROM order_steps s, LATERAL (SELECT count(*) + s.is_line::integer AS lines FROM order_commands c
      WHERE c.order_number = s.order_number AND c.command_id = s.command_id AND c.state = 'DONE') n
    WHERE s.step_number > 1 AND NOT pg_temp.is_lost(s.at, 1)
      AND (n.lines <> 1 OR s.is_line AND ${IS_OF_A_PERSON})`,
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
];

/**
 * Who acted alone, with `--break-glass`, and of whom an operator got no mail, also one who was disabled within the last
 * 30 days.
 */
export async function loneActViolations(
  { environment }: CheckedService,
  sql: Sql,
): Promise<Violation[]> {
  const acts = await sql<
    { actor: string; kind: string; subject: string; reason: string; readers: string[] }[]
  >`
    SELECT l.actor, l.details->>'kind' AS kind, l.subject, l.details->>'reason' AS reason,
      ARRAY(SELECT email FROM users u WHERE u.operator_role IS NOT NULL
        AND u.created_at < l.at - interval '1 second'
        AND (u.disabled_at IS NULL OR u.disabled_at > l.at - interval '30 days')) AS readers
    FROM audit_log l WHERE l.action = 'break-glass'`;
  if (acts.length === 0) return [];
  const store = createMailStore(join(environment['DATA_DIR'] ?? '', 'mails'));
  const sent = await store.latest(Infinity);
  // A line of a mail may be folded.
  const mails = sent.map(({ to, text }) => ({ to, text: text.replaceAll(/\s+/g, ' ') }));
  return acts.flatMap(({ actor, kind, subject, reason, readers }) => {
    const words = [subject, actor.replace('operator:', ''), reason];
    const about = mails.filter(({ text }) => words.every((word) => text.includes(word)));
    const reached = new Set(about.map(({ to }) => emailKeyOf(to)));
    const missed = readers.filter((email) => !reached.has(email));
    const fault = `${actor} did ${kind} alone, without a mail to ${missed.join()}`;
    return missed.length > 0 ? [violation('people', subject, fault)] : [];
  });
}
