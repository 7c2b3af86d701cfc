import { Readable } from 'node:stream';
import { h } from 'preact';
import { z } from 'zod';
import { DomainError } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import type { AuditEntry, AuditFilter } from '../../merchants/public.ts';
import { AUDIT_ID, auditCsv, listAudit, writeLook } from '../../merchants/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { textField } from '../view/fields.ts';
import { filterForm } from '../view/layout.ts';
import { moment } from '../view/parts.ts';
import { dataTable, pager, pathWith } from '../view/table.ts';
import { link } from '../view/url.ts';
import type { OperatorPageDeps } from './context.ts';
import { ROWS_PER_PAGE } from './context.ts';
import { merchantLink, orderLink } from './parts.ts';

const filterSchema = z.object({
  who: z.string().trim().optional(),
  action: z.string().trim().optional(),
  merchant: z.string().trim().optional(),
  subject: z.string().trim().optional(),
  since: z.string().trim().optional(),
  until: z.string().trim().optional(),
});
type Filter = z.output<typeof filterSchema>;

/** Who did what, with its filter, and the same lines as a file. */
export function auditPages(context: PageContext, { sql }: OperatorPageDeps): Route[] {
  const list = definePage(context, {
    audience: 'operator',
    method: 'GET',
    path: '/audit',
    query: filterSchema.extend({
      before: z.string().regex(AUDIT_ID).optional(),
    }),
  }).handledBy(async ({ query: { before, ...filter } }) => {
    const asked = { ...auditFilterOf(filter), olderThan: before };
    const found = await listAudit(sql, asked, ROWS_PER_PAGE);
    const next = found.hasMore ? found.entries.at(-1)?.id : undefined;
    const content = [
      auditForm(filter),
      h(
        'p',
        null,
        link(pathWith('/operator/audit.csv', filter), 'Save as CSV', { download: 'audit.csv' }),
      ),
      auditTable(found.entries),
      pager('/operator/audit', filter, { before, next }),
    ];
    return { view: { title: 'Audit', content } };
  });
  const file = definePage(context, {
    audience: 'operator',
    method: 'GET',
    path: '/audit.csv',
    query: filterSchema,
  }).handledBy(async ({ query, actor }) => {
    const filter = auditFilterOf(query);
    const given = Object.entries(query).flatMap(([name, text]) => (text ? [[name, text]] : []));
    const details: Record<string, string> = Object.fromEntries(given);
    await writeLook(sql, { actor, action: 'audit.export', details });
    return {
      file: Readable.from(auditCsv(sql, filter)),
      contentType: 'text/csv; charset=utf-8',
      headers: { 'Content-Disposition': 'attachment; filename="audit.csv"' },
    };
  });
  return [...list, ...file];
}

/** @throws DomainError `BAD_REQUEST` for a date that does not exist */
function auditFilterOf({ who, action, merchant, subject, since, until }: Filter): AuditFilter {
  return {
    actor: who,
    action,
    merchantId: merchant,
    subject,
    since: dayOf('Since', since),
    until: dayOf('Before', until),
  };
}

/** The beginning of a day in Indian time. */
function dayOf(name: string, text: string | undefined): Date | undefined {
  if (text === undefined || text === '') return undefined;
  const day = new Date(`${text}T00:00:00+05:30`);
  // No row is older than 1970, and PostgreSQL does not read the year 0.
  if (/^\d{4}-\d\d-\d\d$/.test(text) && day.getTime() >= 0) return day;
  throw new DomainError('BAD_REQUEST', `${name} must be a day like 2026-11-20`);
}

function auditForm(filter: Filter) {
  const state = { values: filter };
  return filterForm(
    '/operator/audit',
    textField({ name: 'who', label: 'Who' }, state),
    textField({ name: 'action', label: 'Action' }, state),
    textField({ name: 'merchant', label: 'Merchant' }, state),
    textField({ name: 'subject', label: 'About' }, state),
    textField({ name: 'since', label: 'Since', type: 'date' }, state),
    textField({ name: 'until', label: 'Before', type: 'date' }, state),
  );
}

function auditTable(entries: readonly AuditEntry[]) {
  return dataTable({
    caption: 'Who did what, the latest first',
    rows: entries,
    empty: 'Nothing matches.',
    columns: [
      { title: 'At', cell: ({ at }) => moment(at) },
      { title: 'Who', cell: ({ actor }) => actor },
      { title: 'From', cell: fromOf },
      { title: 'Action', cell: ({ action }) => h('code', null, action) },
      { title: 'Outcome', cell: ({ outcome }) => outcome?.toLowerCase() ?? '–' },
      { title: 'About', cell: aboutOf },
      { title: 'Why', cell: ({ reason }) => h('span', { dir: 'auto' }, reason || '–') },
    ],
  });
}

function fromOf({ actor, address }: AuditEntry): string {
  return address || (actor.startsWith('cli:') ? 'command line' : '–');
}

function aboutOf({ subject, merchantId }: AuditEntry) {
  const about = subject?.startsWith('ORD')
    ? orderLink(subject)
    : subject && h('code', null, subject);
  return [about, about && merchantId ? ' · ' : null, merchantId && merchantLink(merchantId)];
}
