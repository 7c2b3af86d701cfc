import type { Sql } from '../db/client.ts';

/** Which audit rows to list; an absent field matches all. */
export interface AuditFilter {
  /** Rows about this order, its webhook deliveries or its surplus payments. */
  orderNumber?: string | undefined;
  merchantId?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  since?: Date | undefined;
}

/** One row of the audit log: who did what, why and when. */
export interface AuditEntry {
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
  { orderNumber, merchantId, actor, action, since }: AuditFilter,
  limit: number,
): Promise<{ entries: AuditEntry[]; hasMore: boolean }> {
  const rows = await sql<AuditEntry[]>`
    SELECT at, actor, address, action, merchant_id, subject,
      coalesce(details->>'reason', (
        SELECT body->>'reason' FROM order_commands r
        WHERE r.order_number = subject AND r.command_id = details->>'commandId')) AS reason, details
    FROM audit_log
    WHERE true
      ${orderNumber ? sql`AND subject = ANY (${subjectsOf(sql, orderNumber)})` : sql``}
      ${merchantId ? sql`AND merchant_id = ${merchantId}` : sql``}
      ${actor ? sql`AND actor = ${actor}` : sql``}
      ${action ? sql`AND action = ${action}` : sql``}
      ${since ? sql`AND at >= ${since}` : sql``}
    ORDER BY at DESC, audit_id DESC LIMIT ${limit + 1}`;
  return { entries: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** The subjects of audit rows that concern an order. */
function subjectsOf(sql: Sql, orderNumber: string) {
  return sql`ARRAY(
    SELECT ${orderNumber}::text
    UNION ALL SELECT delivery_id FROM webhook_deliveries JOIN order_events USING (event_id)
      WHERE order_number = ${orderNumber}
    UNION ALL SELECT gateway_subject(gateway, gateway_payment_id) FROM surplus_refunds WHERE order_number = ${orderNumber})`;
}
