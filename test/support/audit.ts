import type { Sql } from '../../src/db/client.ts';

/** A row of the audit log. */
export interface AuditRow {
  actor: string;
  action: string;
  subject: string | null;
  details: Record<string, unknown>;
}

/** The audit rows about a merchant and everything that belongs to it, oldest first. */
export async function auditOf(sql: Sql, merchantId: string): Promise<AuditRow[]> {
  return sql<AuditRow[]>`
    SELECT actor, action, subject, details FROM audit_log
    WHERE merchant_id = ${merchantId} ORDER BY audit_id`;
}
