import type { Sql } from '../db/client.ts';

/** The rows of each statement of {@link auditPages}. */
const ROWS_PER_PAGE = 1000;

/** Which audit rows to list; an absent field matches all. */
export interface AuditFilter {
  /** Rows about this order, its webhook deliveries or its surplus payments. */
  orderNumber?: string | undefined;
  /** Rows about exactly this: an order number, a delivery id, an API key, … */
  subject?: string | undefined;
  merchantId?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  since?: Date | undefined;
  /** Rows before this time. */
  until?: Date | undefined;
  /** Rows older than the one with this id: the next page. */
  olderThan?: number | undefined;
}

/** One row of the audit log: who did what, why, when and from where. */
export interface AuditEntry {
  auditId: number;
  at: Date;
  actor: string;
  /** The client's IP address; null on the command line. */
  address: string | null;
  action: string;
  merchantId: string | null;
  /** The order number, delivery id, gateway and its payment id, … */
  subject: string | null;
  reason: string | null;
  details: Record<string, unknown>;
}

/** Audit rows, latest first. @returns at most `limit`, and whether there are more */
export async function listAudit(
  sql: Sql,
  filter: AuditFilter,
  limit: number,
): Promise<{ entries: AuditEntry[]; hasMore: boolean }> {
  const { orderNumber, subject, merchantId, actor, action, since, until, olderThan } = filter;
  const rows = await sql<AuditEntry[]>`
    SELECT audit_id, at, actor, address, action, merchant_id, subject,
      coalesce(details->>'reason', (
        SELECT body->>'reason' FROM order_commands r
        WHERE r.order_number = subject AND r.command_id = details->>'commandId'
          AND r.state <> 'REFUSED')) AS reason, details
    FROM audit_log
    WHERE true
      ${orderNumber ? sql`AND subject = ANY (${subjectsOf(sql, orderNumber)})` : sql``}
      ${subject ? sql`AND subject = ${subject}` : sql``}
      ${merchantId ? sql`AND merchant_id = ${merchantId}` : sql``}
      ${actor ? sql`AND actor = ${actor}` : sql``}
      ${action ? sql`AND action = ${action}` : sql``}
      ${since ? sql`AND at >= ${since}` : sql``}
      ${until ? sql`AND at < ${until}` : sql``}
      ${olderThan === undefined ? sql`` : sql`AND (at, audit_id) < (${timeOf(sql, olderThan)}, ${olderThan})`}
    ORDER BY at DESC, audit_id DESC LIMIT ${limit + 1}`;
  return { entries: rows.slice(0, limit), hasMore: rows.length > limit };
}

/**
 * Yields all audit rows that match, latest first, in pages of 1,000: each page is one statement, which
 * begins after the last row of the page before it.
 */
export async function* auditPages(sql: Sql, filter: AuditFilter): AsyncGenerator<AuditEntry[]> {
  let page = await listAudit(sql, filter, ROWS_PER_PAGE);
  while (page.entries.length > 0) {
    yield page.entries;
    if (!page.hasMore) return;
    const olderThan = page.entries.at(-1)?.auditId;
    page = await listAudit(sql, { ...filter, olderThan }, ROWS_PER_PAGE);
  }
}

/** The time of an audit row, by which its older rows are found in an index. */
function timeOf(sql: Sql, auditId: number) {
  return sql`(SELECT at FROM audit_log WHERE audit_id = ${auditId})`;
}

/** The subjects of audit rows that concern an order. */
function subjectsOf(sql: Sql, orderNumber: string) {
  return sql`ARRAY(
    SELECT ${orderNumber}::text
    UNION ALL SELECT delivery_id FROM webhook_deliveries JOIN order_events USING (event_id)
      WHERE order_number = ${orderNumber}
    UNION ALL SELECT gateway_subject(gateway, gateway_payment_id) FROM surplus_refunds WHERE order_number = ${orderNumber})`;
}
