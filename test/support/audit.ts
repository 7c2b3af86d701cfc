import type { Sql } from '../../src/db/client.ts';

/** A row of the audit log. */
export interface AuditRow {
  actor: string;
  action: string;
  subject: string | null;
  details: Record<string, unknown>;
}

/** What was done to a merchant, or to what is theirs, in order. */
export async function auditOf(sql: Sql, merchantId: string): Promise<AuditRow[]> {
  return sql<AuditRow[]>`
    SELECT actor, action, subject, details FROM audit_log
    WHERE merchant_id = ${merchantId} ORDER BY audit_id`;
}
