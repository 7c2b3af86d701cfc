import { join } from 'node:path';
import type { OperatorAction, OperatorRole } from '../../../src/accounts/public.ts';
import { mayDo } from '../../../src/accounts/public.ts';
import { emailKeyOf } from '../../../src/accounts/people/users.ts';
import type { Sql } from '../../../src/db/client.ts';
import { openMail } from '../../../src/mail/content.ts';
import { letterText } from '../../../src/mail/public.ts';
import { createSecretBox } from '../../../src/secret-box.ts';
import { createMailStore } from '../../mailbox/store.ts';
import * as report from './report.ts';
import type { Compared } from './compared.ts';
import { isLost } from './service.ts';

type Violation = report.Violation;

const violation = (subject: string, fault: string, about: readonly string[] = []) =>
  report.violation('people', subject, fault, about);

/** The clocks of two statements, or of two processes on this machine, and times in whole seconds. */
const CLOCK_MS = 1000;

/**
 * What people did and whether they were allowed to:
 *
 * 1. Each transfer of production went to the account that two persons, or one alone with an alert, had approved
 *    before the payment was captured.
 * 2. Two persons did what needs two. One alone left a line of the audit list, an alert, and a mail to every
 *    operator, also to those who were disabled within the last 30 days.
 * 3. Each command of a person has one line of the audit list, with actor and outcome, and its step points to it.
 * 4. No right was used after its end.
 */
export async function peopleViolations(compared: Compared): Promise<Violation[]> {
  return [
    ...(await recipientViolations(compared)),
    ...(await secondPersonViolations(compared)),
    ...(await loneActViolations(compared)),
    ...(await lineViolations(compared)),
    ...(await roleViolations(compared)),
    ...usedRights(compared),
  ];
}

interface ProductionPayment {
  readonly gatewayPaymentId: string;
  readonly orderNumber: string;
  readonly linkedAccountId: string | null;
  /** The accounts that were active when it was captured, by when each became active. */
  readonly active: readonly string[];
  /** Whether its account was approved before. */
  readonly isApproved: boolean;
}

/** The account of a merchant that was active then. */
const activeAt = (sql: Sql, at: ReturnType<Sql>) => sql`
  (SELECT c.linked_account_id FROM linked_account_changes c
    WHERE c.merchant_id = o.merchant_id AND c.environment = o.environment AND c.gateway = o.gateway
      AND c.active_from <= ${at}
    ORDER BY c.active_from DESC, c.change_id DESC LIMIT 1)`;

async function recipientViolations({ sql, money, allowed }: Compared): Promise<Violation[]> {
  const payments = await sql<ProductionPayment[]>`
    SELECT p.gateway_payment_id, p.order_number, p.linked_account_id,
      ARRAY[${activeAt(sql, sql`p.captured_at`)},
        ${activeAt(sql, sql`p.captured_at + ${CLOCK_MS} * interval '1 millisecond'`)}] AS active,
      EXISTS (SELECT FROM proposals r
        WHERE r.merchant_id = o.merchant_id AND r.kind IN ('merchant.linkedAccount', 'merchant.approve')
          AND r.parameters->>'linkedAccountId' = p.linked_account_id AND r.outcome = 'done'
          AND r.decided_by <> r.proposed_by AND r.decided_at < p.captured_at)
      OR EXISTS (SELECT FROM audit_log done JOIN audit_log alone USING (merchant_id, actor)
        WHERE done.merchant_id = o.merchant_id AND done.action = 'merchant.approve'
          AND done.details->'linkedAccounts'->>'production' = p.linked_account_id
          AND alone.action = 'break-glass' AND done.at < p.captured_at
          AND alone.at BETWEEN done.at - interval '1 second' AND done.at + interval '1 second') AS is_approved
    FROM payments p JOIN orders o USING (order_number) WHERE p.environment = 'production'`;
  const transfers = new Map(money.map((one) => [one.paymentId, one.transfers]));
  return payments.flatMap(({ gatewayPaymentId: id, orderNumber, linkedAccountId, ...found }) => {
    const made = (transfers.get(id) ?? []).filter(
      ({ created_at: seconds }) => !isLost(allowed, seconds * 1000, CLOCK_MS),
    );
    if (made.length === 0) return [];
    const other = made.find(({ recipient }) => recipient !== linkedAccountId);
    const faults = [
      other && `a transfer went to ${other.recipient}, and its account is ${linkedAccountId}`,
      !found.isApproved && `nobody had approved its account ${linkedAccountId} before its capture`,
      !found.active.includes(linkedAccountId ?? '') &&
        `its account is ${linkedAccountId}, and ${found.active.join()} was active at its capture`,
    ].filter((fault) => typeof fault === 'string');
    return faults.map((fault) => violation(orderNumber, `${id}: ${fault}`, [`razorpay:${id}`]));
  });
}

/** Each act that needs two persons has a proposal of another operator, or was done alone. */
async function secondPersonViolations({ sql }: Compared): Promise<Violation[]> {
  const own = await sql<{ subject: string; kind: string }[]>`
    SELECT subject, kind FROM proposals
    WHERE (status = 'approved' AND decided_by IS NOT DISTINCT FROM proposed_by)
      OR (status <> 'approved' AND carried_out_at IS NOT NULL)`;
  const single = await sql<{ subject: string; kind: string }[]>`
    WITH acts AS (
      SELECT coalesce(details->>'email', merchant_id) AS subject, actor,
        CASE action WHEN 'merchant.approve' THEN 'merchant.linkedAccount' ELSE action END AS kind
      FROM audit_log WHERE action IN ('merchant.linkedAccount', 'merchant.activate', 'operator.role',
          'operator.reactivate')
        OR (action = 'merchant.approve' AND details->'linkedAccounts'->>'production' IS NOT NULL)
      UNION ALL SELECT order_number, actor, 'order.settle' FROM order_commands WHERE name = 'settle'
    ), permissions AS (
      SELECT r.subject, r.kind, 'operator:' || u.email AS actor
      FROM proposals r JOIN users u ON u.user_id = r.decided_by WHERE r.outcome = 'done'
      UNION ALL SELECT subject, details->>'kind', actor FROM audit_log WHERE action = 'break-glass'
    )
    SELECT subject, kind FROM (
      SELECT subject, kind, actor, 1 AS acts, 0 AS permissions FROM acts
      UNION ALL SELECT subject, kind, actor, 0, 1 FROM permissions) AS both_sides
    GROUP BY subject, kind, actor HAVING sum(acts) > sum(permissions)`;
  return [
    ...own.map(({ subject, kind }) =>
      violation(subject, `${kind} was carried out without the approval of another operator`),
    ),
    ...single.map(({ subject, kind }) =>
      violation(subject, `${kind} was done without a second person, and not with --break-glass`),
    ),
  ];
}

interface LoneAct {
  readonly actor: string;
  readonly kind: string;
  readonly subject: string;
  readonly reason: string;
  readonly hasAlert: boolean;
  /** The addresses of all who must get a mail. */
  readonly readers: readonly string[];
}

async function loneActViolations({ service, sql }: Compared): Promise<Violation[]> {
  const acts = await sql<LoneAct[]>`
    SELECT l.actor, l.details->>'kind' AS kind, l.subject, l.details->>'reason' AS reason,
      EXISTS (SELECT FROM alerts a WHERE a.kind = 'break_glass_used' AND a.subject = l.subject
        AND a.last_at >= l.at - interval '1 second') AS has_alert,
      ARRAY(SELECT email FROM users u WHERE u.operator_role IS NOT NULL
        AND u.created_at < l.at - interval '1 second'
        AND (u.disabled_at IS NULL OR u.disabled_at > l.at - interval '30 days')) AS readers
    FROM audit_log l WHERE l.action = 'break-glass'`;
  if (acts.length === 0) return [];
  const mails = await readMails(service.environment, sql);
  return acts.flatMap(({ actor, kind, subject, reason, hasAlert, readers }) => {
    const words = [subject, actor.replace('operator:', ''), reason];
    const about = mails.filter(({ text }) => words.every((word) => text.includes(word)));
    const reached = new Set(about.map(({ to }) => emailKeyOf(to)));
    const missed = readers.filter((email) => !reached.has(email));
    const what = `${actor} did ${kind} alone`;
    return [
      ...(hasAlert ? [] : [violation(subject, `${what}, and there is no alert`)]),
      ...(missed.length > 0
        ? [violation(subject, `${what}, without a mail to ${missed.join()}`)]
        : []),
    ];
  });
}

/** All mails: those that wait, and those that the mailbox has. */
async function readMails(
  environment: Compared['service']['environment'],
  sql: Sql,
): Promise<readonly { readonly to: string; readonly text: string }[]> {
  const box = createSecretBox(environment['DATA_ENCRYPTION_KEYS'] ?? '');
  const waiting = await sql<{ mailId: string; sealed: Uint8Array }[]>`
    SELECT mail_id, sealed FROM mails WHERE sealed IS NOT NULL`;
  const opened = waiting
    .map(({ mailId, sealed }) => openMail(box, mailId, sealed))
    .map((mail) => ({ to: mail.to, text: letterText(mail) }));
  const { DATA_DIR: dataDir } = environment;
  const sent =
    dataDir === undefined ? [] : await createMailStore(join(dataDir, 'mails')).latest(Infinity);
  // A line of a mail may be folded.
  return [...opened, ...sent].map(({ to, text }) => ({ to, text: text.replaceAll(/\s+/g, ' ') }));
}

/** Steps that only a person causes: none of them is a line by itself. */
const STEPS_OF_PERSONS = [
  'DELIVERY_CONFIRMED',
  'DISPUTE_RAISED',
  'EVIDENCE_SUBMITTED',
  'DISPUTE_RESOLVED',
  'CLOCK_ADVANCED',
];
/** Steps that a person or a deadline causes. */
const STEPS_OF_COMMANDS = ['ORDER_CANCELLED', 'REFUND_STARTED', 'RELEASE_STARTED'];

async function lineViolations({ sql, allowed }: Compared): Promise<Violation[]> {
  const found = await sql<{ subject: string; fault: string; atMs: number }[]>`
    SELECT s.order_number AS subject, extract(epoch FROM s.at)::double precision * 1000 AS at_ms,
      format('step %s, %s, has %s lines of the audit list', s.step_number, s.kind, n.lines) AS fault
    FROM order_steps s, LATERAL (SELECT count(*) + s.is_line::integer AS lines FROM order_commands c
      WHERE c.order_number = s.order_number AND c.command_id = s.command_id AND c.state = 'DONE') n
    WHERE s.step_number > 1 AND (n.lines <> 1 OR (s.is_line AND (s.kind = ANY (${STEPS_OF_PERSONS})
      OR (s.kind = ANY (${STEPS_OF_COMMANDS}) AND s.command_id IS NOT NULL))))
    UNION ALL
    SELECT c.order_number, extract(epoch FROM c.written_at)::double precision * 1000,
      format('the command %s of %s is %s, and has %s steps', c.name, c.actor, c.state, n.steps)
    FROM order_commands c, LATERAL (SELECT count(*) AS steps FROM order_steps s
      WHERE s.order_number = c.order_number AND s.command_id = c.command_id) n
    WHERE c.actor <> 'gateway' AND (c.actor !~ '^((key|merchant|operator|cli):.|buyer$)'
      OR (c.actor LIKE 'key:%' AND NOT EXISTS (SELECT FROM api_keys k
        WHERE k.merchant_id = c.merchant_id AND c.actor = 'key:' || k.api_key))
      OR c.state = 'WAITING' OR (c.state = 'DONE' AND c.name <> 'settle' AND n.steps <> 1))`;
  return found
    .filter(({ atMs }) => !isLost(allowed, atMs, CLOCK_MS))
    .map(({ subject, fault }) => violation(subject, fault));
}

interface OperatorLine {
  readonly auditId: number;
  readonly email: string;
  readonly action: string;
  /** Of a change of the role; null for one who was disabled. */
  readonly role: OperatorRole | null;
  /** Of a proposal or an act alone. */
  readonly kind: OperatorAction;
}

/** Operators who proposed or decided after they had lost the role for it. Lines have the order of the locks. */
async function roleViolations({ sql }: Compared): Promise<Violation[]> {
  const lines = await sql<OperatorLine[]>`
    SELECT audit_id, action, details->>'role' AS role, details->>'kind' AS kind,
      coalesce(details->>'email', replace(actor, 'operator:', '')) AS email
    FROM audit_log WHERE action IN ('operator.role', 'operator.disable', 'operator.reactivate',
      'proposal.open', 'proposal.approve', 'proposal.reject', 'break-glass')
    ORDER BY audit_id`;
  const roles = new Map<string, OperatorRole | null>();
  return lines.flatMap(({ email, action, role, kind }) => {
    if (action.startsWith('operator.')) roles.set(email, role);
    else if (roles.has(email) && !mayDo(roles.get(email) ?? null, kind)) {
      return violation(email, `${action} of ${kind} after the operator had lost the role for it`);
    }
    return [];
  });
}

function usedRights({ memory, allowed }: Compared): Violation[] {
  return memory.endedRights
    .filter(({ usedAtMs, endedAtMs }) => usedAtMs.length > 0 && !isLost(allowed, endedAtMs))
    .map(({ right, endedAtMs, usedAtMs }) =>
      violation(
        right,
        `was used ${usedAtMs.length} times, the first time ${(usedAtMs[0] ?? 0) - endedAtMs} ms after its end`,
      ),
    );
}
