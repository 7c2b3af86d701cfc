import type { Sql } from '../db/client.ts';
import { csvOf } from '../http/responses/csv.ts';
import type { AuditEntry, AuditFilter } from './audit-log.ts';
import { auditPages } from './audit-log.ts';

/** The columns of the file, in their order. An absent value is empty. */
const COLUMNS = {
  id: (entry) => entry.id,
  at: (entry) => entry.at.toISOString(),
  who: (entry) => entry.actor,
  address: (entry) => entry.address ?? '',
  request_id: (entry) => entry.requestId ?? '',
  action: (entry) => entry.action,
  outcome: (entry) => entry.outcome ?? '',
  merchant_id: (entry) => entry.merchantId ?? '',
  subject: (entry) => entry.subject ?? '',
  reason: (entry) => entry.reason ?? '',
  details: (entry) => JSON.stringify(entry.details),
} as const satisfies Record<string, (entry: AuditEntry) => string>;

/**
 * Writes the lines that match as CSV, the latest first. It reads a thousand rows at a time, each
 * when the reader asks for more, so neither memory nor a connection is held.
 */
export async function* auditCsv(sql: Sql, filter: AuditFilter): AsyncGenerator<string> {
  yield csvOf([Object.keys(COLUMNS)]);
  for await (const entries of auditPages(sql, filter)) {
    yield csvOf(entries.map((entry) => Object.values(COLUMNS).map((cell) => cell(entry))));
  }
}
