import type { Sql } from '../../src/db/client.ts';
import type { AuditEntry } from '../../src/merchants/audit-log.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';

/** More lines than a test causes. */
const ALL = 1000;

/**
 * What people have done in the dashboard and on the command line for a merchant and everything that
 * belongs to it, oldest first; without the commands of API keys and buyers, and without payments and deadlines.
 */
export async function auditOf(sql: Sql, merchantId: string): Promise<AuditEntry[]> {
  const { entries } = await listAudit(sql, { merchantId }, ALL);
  return entries.filter(({ actor }) => !/^(key:|buyer$|service$)/.test(actor)).toReversed();
}
