import { Readable } from 'node:stream';
import { z } from 'zod';
import { auditNameOfEmail, findNamedUsers } from '../../accounts/public.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import type { AuditEntry, AuditFilter } from '../../merchants/public.ts';
import {
  AUDIT_ID,
  auditCsv,
  listAudit,
  withMerchantNames,
  writeLook,
} from '../../merchants/public.ts';
import { startOfDay, todayInIndia } from '../money/period.ts';
import { choice, filterForm, textField } from '../view/fields.ts';
import { csvLink } from '../view/parts.ts';
import { dataTable, pager } from '../view/table.ts';
import { shortMoment } from '../view/texts.ts';
import { pathWith } from '../view/url.ts';
import { AUDIT_ACTIONS } from './audit-actions.ts';
import type { ShownEntry } from './audit-entry.ts';
import { onCell, whatCell, whoCell } from './audit-entry.ts';
import { operatorPage, ROWS_PER_PAGE } from './parts.ts';

const filterSchema = z.object({
  who: z.string().trim().optional(),
  action: z.string().trim().optional(),
  /** An order number, a merchant's id, the id of a user, a delivery, … */
  subject: z.string().trim().optional(),
  since: z.string().trim().optional(),
  until: z.string().trim().optional(),
});
type Filter = z.output<typeof filterSchema>;

/** The audit list with its filter, and the same lines as a file. */
export const auditPages = [
  operatorPage('GET /audit', {
    query: filterSchema.extend({
      before: z.string().regex(AUDIT_ID).optional(),
    }),
  }).handledBy(async ({ query: { before, ...filter } }, { sql }) => {
    const asked = { ...(await auditFilterOf(sql, filter)), olderThan: before };
    const found = await listAudit(sql, asked, ROWS_PER_PAGE);
    const next = found.hasMore ? found.entries.at(-1)?.id : undefined;
    const content = [
      auditForm(filter),
      auditTable(await withNames(sql, found.entries)),
      pager('/operator/audit', filter, { before, next }),
    ];
    const beside = csvLink(pathWith('/operator/audit.csv', filter));
    return { view: { title: 'Audit', beside, content } };
  }),
  operatorPage('GET /audit.csv', { query: filterSchema }).handledBy(
    async ({ query, actor }, { sql }) => {
      const filter = await auditFilterOf(sql, query);
      const given = Object.entries(query).flatMap(([name, text]) => (text ? [[name, text]] : []));
      const details: Record<string, string> = Object.fromEntries(given);
      await writeLook(sql, { actor, action: 'audit.export', details });
      return {
        file: Readable.from(auditCsv(sql, filter)),
        contentType: 'text/csv; charset=utf-8',
        headers: { 'Content-Disposition': `attachment; filename="audit-${todayInIndia()}.csv"` },
      };
    },
  ),
];

/** @throws DomainError `BAD_REQUEST` for a date that does not exist */
async function auditFilterOf(
  sql: Sql,
  { who = '', action, subject, since, until }: Filter,
): Promise<AuditFilter> {
  const isAddress = who.includes('@') && !who.includes(':');
  return {
    actor: isAddress ? await auditNameOfEmail(sql, who) : who,
    action,
    ...(subject?.startsWith('mer_') ? { merchantId: subject } : { subject }),
    since: dayOf('Since', since),
    until: dayOf('Before', until),
  };
}

function dayOf(name: string, text: string | undefined): Date | undefined {
  const day = startOfDay(text);
  if (day !== null) return day;
  throw new DomainError('BAD_REQUEST', `${name} must be a day like 2026-11-20`);
}

const ACTION_CHOICES = Object.fromEntries(
  Object.entries(AUDIT_ACTIONS).toSorted(([, a], [, b]) => a.localeCompare(b, 'en')),
);

function auditForm(filter: Filter) {
  const anything = { choices: ACTION_CHOICES, placeholder: 'Anything' };
  return filterForm(
    '/operator/audit',
    { values: filter },
    textField({ name: 'who', label: 'Who' }),
    choice({ name: 'action', label: 'What', ...anything }),
    textField({ name: 'subject', label: 'On' }),
    textField({ name: 'since', label: 'Since', type: 'date' }),
    textField({ name: 'until', label: 'Before', type: 'date' }),
  );
}

async function withNames(sql: Sql, entries: readonly AuditEntry[]): Promise<ShownEntry[]> {
  const subjects = entries.flatMap(({ subject }) => (subject?.startsWith('usr_') ? [subject] : []));
  const [named, users] = await Promise.all([
    withMerchantNames(sql, entries),
    findNamedUsers(sql, [...new Set(subjects)]),
  ]);
  const userOf = new Map(users.map((user) => [user.userId, user]));
  return named.map((entry) => ({ ...entry, user: userOf.get(entry.subject ?? '') }));
}

function auditTable(entries: readonly ShownEntry[]) {
  return dataTable({
    caption: 'Who did what, the latest first',
    isCompact: true,
    rows: entries,
    empty: 'Nothing matches.',
    columns: {
      When: ({ at }) => shortMoment(at),
      Who: { isLine: true, cell: whoCell },
      What: whatCell,
      On: { isLine: true, cell: onCell },
    },
  });
}
