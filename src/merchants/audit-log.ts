import type { Fragment } from 'postgres';
import type { OrderMessageName } from '../contracts/order-workflow.ts';
import type { Sql } from '../db/client.ts';
import type { HelperName, StepKind } from '../domain/index.ts';
import { STEP_KINDS } from '../domain/index.ts';

const ROWS_PER_PAGE = 1000;

/** The actor of steps that no person caused: payments, deadlines, the gateway's results. */
const NO_PERSON = 'service';

/** The action that the list shows for each command on orders. A step without a command has its kind as its action. */
const COMMAND_ACTIONS = {
  deliver: 'order.deliver',
  cancel: 'order.cancel',
  refund: 'order.refund',
  settle: 'order.settle',
  pay: 'order.pay',
  failPayment: 'order.fail_payment',
  advance: 'order.advance',
  dispute: 'dispute.raise',
  submitEvidence: 'dispute.evidence',
  resolve: 'dispute.resolve',
  accept: 'dispute.accept',
  decide: 'dispute.decide',
  latePayment: 'order.test_late_payment',
  secondPayment: 'order.test_second_payment',
  chargeback: 'order.test_chargeback',
  failRefund: 'order.test_fail_refund',
} as const satisfies Record<OrderMessageName | HelperName, string>;
export type CommandAction = (typeof COMMAND_ACTIONS)[keyof typeof COMMAND_ACTIONS];

/** Which lines to list. An absent field matches all. */
export interface AuditFilter {
  /** Lines about this order, its webhook deliveries or its surplus payments. */
  orderNumber?: string | undefined;
  /** Lines with exactly this subject: an order number, a delivery id, an API key, … */
  subject?: string | undefined;
  merchantId?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
  /** Only lines after the one with this id in the list, which is the last line of the previous page. */
  olderThan?: string | undefined;
}

/** One line: who did what, why, when and from where, and the outcome. */
export interface AuditEntry {
  /** Unique, and sorted like the list: it begins with the time in microseconds. */
  id: string;
  at: Date;
  actor: string;
  /** The client's IP address. Null for acts on the command line, and empty once it is erased. */
  address: string | null;
  /** The id of the request that gave the command. Null for other lines. */
  requestId: string | null;
  action: string;
  /** The outcome of a command. Null for other lines, which are written with the change itself. */
  outcome: 'WAITING' | 'DONE' | 'REFUSED' | null;
  merchantId: string | null;
  /** An order number, a delivery id, `<gateway>:<payment id>`, … */
  subject: string | null;
  reason: string | null;
  details: Record<string, unknown>;
}

/** The form of {@link AuditEntry}'s id. */
export const AUDIT_ID = /^\d{1,17}\.[\x21-\x7e]{1,600}$/;

/**
 * Lists what was done, latest first: commands on orders (`order_commands`), steps that no person caused
 * (`order_steps`), and everything else (`audit_log`).
 *
 * @returns at most `limit`, and whether there are more
 */
export async function listAudit(
  sql: Sql,
  filter: AuditFilter,
  limit: number,
): Promise<{ entries: AuditEntry[]; hasMore: boolean }> {
  // Each source reads its own index and stops after `limit` rows.
  const latestOf = (lines: Fragment) => sql`
    (SELECT * FROM (${lines}) AS line ORDER BY at DESC, id COLLATE "C" DESC LIMIT ${limit + 1})`;
  const others = [commandLines(sql, filter), stepLines(sql, filter)].map((lines) =>
    lines === undefined ? sql`` : sql`UNION ALL ${latestOf(lines)}`,
  );
  const rows = await sql<AuditEntry[]>`
    SELECT * FROM (${latestOf(logLines(sql, filter))} ${others}) AS line
    ORDER BY at DESC, id COLLATE "C" DESC LIMIT ${limit + 1}`;
  return { entries: rows.slice(0, limit).map(withAction), hasMore: rows.length > limit };
}

/** Adds the action to a line of a command. */
const withAction = (entry: AuditEntry): AuditEntry =>
  entry.outcome === null
    ? entry
    : { ...entry, action: COMMAND_ACTIONS[entry.action as keyof typeof COMMAND_ACTIONS] };

/**
 * Yields all matching lines, latest first, in pages of 1,000. Each page is one statement, which begins after the
 * last line of the previous page.
 */
export async function* auditPages(sql: Sql, filter: AuditFilter): AsyncGenerator<AuditEntry[]> {
  let page = await listAudit(sql, filter, ROWS_PER_PAGE);
  while (page.entries.length > 0) {
    yield page.entries;
    if (!page.hasMore) return;
    const olderThan = page.entries.at(-1)?.id;
    page = await listAudit(sql, { ...filter, olderThan }, ROWS_PER_PAGE);
  }
}

function logLines(sql: Sql, filter: AuditFilter) {
  const { orderNumber, subject, actor, action } = filter;
  const id = lineId(sql, sql`at`, sql`lpad(audit_id::text, 19, '0')`);
  return sql`
    SELECT ${id} AS id, at, actor, address, NULL AS request_id, action, NULL AS outcome, merchant_id,
      subject, details->>'reason' AS reason, details
    FROM audit_log
    WHERE ${commonConditions(sql, filter, { at: sql`at`, id })}
      ${orderNumber ? sql`AND subject = ANY (${subjectsOf(sql, orderNumber)})` : sql``}
      ${subject ? sql`AND subject = ${subject}` : sql``}
      ${actor ? sql`AND actor = ${actor}` : sql``}
      ${action ? sql`AND action = ${action}` : sql``}`;
}

/** The commands on orders. Undefined if the filter's action is not one of them. */
function commandLines(sql: Sql, filter: AuditFilter) {
  const { orderNumber, subject, actor, action } = filter;
  const names = Object.entries(COMMAND_ACTIONS);
  const name = action && names.find(([, known]) => known === action)?.[0];
  if (action && name === undefined) return undefined;
  const id = lineId(
    sql,
    sql`written_at`,
    sql`order_number || '.' || command_id || '.' || lpad(try_number::text, 6, '0')`,
  );
  return sql`
    SELECT ${id} AS id, written_at AS at, actor, address, request_id, name AS action,
      state::text AS outcome, merchant_id, order_number AS subject, reason,
      jsonb_build_object('commandId', command_id) || body AS details
    FROM shared.order_commands
    WHERE ${commonConditions(sql, filter, { at: sql`written_at`, id })}
      ${orderNumber ? sql`AND order_number = ${orderNumber}` : sql``}
      ${subject ? sql`AND order_number = ${subject}` : sql``}
      ${actor ? sql`AND actor = ${actor}` : sql``}
      ${name ? sql`AND name = ${name}` : sql``}`;
}

/** The steps that no person caused. Undefined if the filter excludes them all. */
function stepLines(sql: Sql, filter: AuditFilter) {
  const { orderNumber, subject, actor, action } = filter;
  if (actor && actor !== NO_PERSON) return undefined;
  if (action && !STEP_KINDS.includes(action as StepKind)) return undefined;
  const id = lineId(
    sql,
    sql`recorded_at`,
    sql`order_number || '.' || lpad(step_number::text, 10, '0')`,
  );
  return sql`
    SELECT ${id} AS id, recorded_at AS at, ${NO_PERSON}::text AS actor, NULL AS address,
      NULL AS request_id, kind AS action, NULL AS outcome, merchant_id, order_number AS subject,
      details->>'reason' AS reason, coalesce(details, '{}') AS details
    FROM shared.order_steps s
    -- A restored database had lost the command's row, and its client has sent it again.
    WHERE in_audit_list AND (SELECT count(*) FROM shared.order_commands c
        WHERE c.order_number = s.order_number AND c.command_id = s.command_id AND c.state = 'DONE') = 0
      AND ${commonConditions(sql, filter, { at: sql`recorded_at`, id })}
      ${orderNumber ? sql`AND order_number = ${orderNumber}` : sql``}
      ${subject ? sql`AND order_number = ${subject}` : sql``}
      ${action ? sql`AND kind = ${action}` : sql``}`;
}

/** SQL: the id of a line. It has the time in microseconds, and a key that distinguishes lines of the same time. */
const lineId = (sql: Sql, at: Fragment, key: Fragment) =>
  sql`((extract(epoch FROM ${at}) * 1000000)::bigint || '.' || ${key})`;

/** The conditions that all sources share, with each source's columns. */
function commonConditions(
  sql: Sql,
  { merchantId, since, until, olderThan }: AuditFilter,
  { at, id }: { at: Fragment; id: Fragment },
) {
  const micros = olderThan?.split('.')[0] ?? '0';
  // The index serves the first of the two conditions.
  const isOlder = sql`AND ${at} <= timestamptz 'epoch' + ${micros}::bigint * interval '1 microsecond'
    AND ${id} COLLATE "C" < ${olderThan ?? ''}`;
  return sql`true
    ${merchantId ? sql`AND merchant_id = ${merchantId}` : sql``}
    ${since ? sql`AND ${at} >= ${since}` : sql``}
    ${until ? sql`AND ${at} < ${until}` : sql``}
    ${olderThan === undefined ? sql`` : isOlder}`;
}

/** The subjects of rows of `audit_log` that concern an order. */
function subjectsOf(sql: Sql, orderNumber: string) {
  return sql`ARRAY(
    SELECT ${orderNumber}::text
    UNION ALL SELECT delivery_id FROM shared.webhook_deliveries JOIN shared.order_events USING (event_id)
      WHERE order_number = ${orderNumber}
    UNION ALL SELECT gateway_subject(gateway, gateway_payment_id) FROM shared.surplus_refunds
      WHERE order_number = ${orderNumber})`;
}
