import type { Sql } from '../db/client.ts';
import { UTF_8_MARK, csvOf, reference } from '../http/responses/csv.ts';
import type { CsvCell } from '../http/responses/csv.ts';
import { tableTimeText } from '../pages/format.ts';
import type { AuditEntry, AuditFilter } from './audit-log.ts';
import { auditPages } from './audit-log.ts';

/** The columns of the file, in order. An absent value is empty. */
const COLUMNS = {
  id: (entry) => entry.id,
  at: (entry) => entry.at.toISOString(),
  at_ist: (entry) => tableTimeText(entry.at),
  who: (entry) => entry.actor,
  address: (entry) => entry.address ?? '',
  request_id: (entry) => reference(entry.requestId),
  action: (entry) => entry.action,
  outcome: (entry) => entry.outcome ?? '',
  merchant_id: (entry) => entry.merchantId ?? '',
  subject: (entry) => reference(entry.subject),
  reason: (entry) => entry.reason ?? '',
  details: (entry) => JSON.stringify(entry.details),
} as const satisfies Record<string, (entry: AuditEntry) => CsvCell>;

/**
 * Writes the matching lines as a CSV file for people, the latest first. It reads a thousand rows at a time, each
 * when the reader asks for more, so it holds neither much memory nor a connection.
 */
export async function* auditCsv(sql: Sql, filter: AuditFilter): AsyncGenerator<string> {
  yield UTF_8_MARK + csvOf([Object.keys(COLUMNS)]);
  for await (const entries of auditPages(sql, filter)) {
    yield csvOf(entries.map((entry) => Object.values(COLUMNS).map((cell) => cell(entry))));
  }
}
