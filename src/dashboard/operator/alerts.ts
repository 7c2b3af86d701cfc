import { h } from 'preact';
import { z } from 'zod';
import type { OperatorRole } from '../../accounts/public.ts';
import { mayDo } from '../../accounts/public.ts';
import type { Alert } from '../../alerts/alerts.ts';
import { clearAlertById, listAlerts } from '../../alerts/alerts.ts';
import { DomainError } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import type { FormState } from '../view/fields.ts';
import { submit, textArea } from '../view/fields.ts';
import { moment, section } from '../view/parts.ts';
import { pager } from '../view/table.ts';
import { form, link } from '../view/url.ts';
import type { OperatorPageDeps } from './context.ts';
import { ROWS_PER_PAGE } from './context.ts';
import { actionNotice, orderLink } from './parts.ts';

const MAX_REASON_LENGTH = 1000;

const alertId = z.string().regex(/^\d{1,15}$/);
const ofAlert = z.object({ alert: alertId });

/** The open alerts, and the form that clears one. */
export function alertPages(context: PageContext, { sql }: OperatorPageDeps): Route[] {
  const page = { audience: 'operator', method: 'GET' } as const;
  const list = definePage(context, {
    ...page,
    path: '/alerts',
    query: z.object({ before: alertId.optional(), done: z.string().optional() }),
  }).handledBy(async ({ query, viewer }) => {
    const before = query.before === undefined ? undefined : Number(query.before);
    const { alerts, hasMore } = await listAlerts(sql, { before }, ROWS_PER_PAGE);
    const next = hasMore ? String(alerts.at(-1)?.alertId) : undefined;
    const content = [
      actionNotice(query.done),
      section('open', 'Open alerts', alertList(alerts, viewer.role)),
      pager('/operator/alerts', {}, { before: query.before, next }),
    ];
    return { view: { title: 'Alerts', content } };
  });
  const clearing = { ...page, permission: 'alert.clear', params: ofAlert } as const;
  const show = definePage(context, { ...clearing, path: '/alerts/{alert}/clear' }).handledBy(
    async ({ params }) => ({ view: clearView(await findOpen(params.alert), {}) }),
  );
  const clear = definePage(context, {
    ...clearing,
    method: 'POST',
    path: '/alerts/{alert}/clear',
    body: z.object({ reason: z.string().default('') }),
  }).handledBy(async ({ params, body, actor }) => {
    const alert = await findOpen(params.alert);
    const reason = body.reason.trim();
    if (reason === '' || reason.length > MAX_REASON_LENGTH) {
      const violation = 'The reason must be 1 to 1000 characters and not blank';
      const state = { values: body, violations: { reason: violation } };
      return { status: 400, view: clearView(alert, state) };
    }
    if (!(await clearAlertById(sql, alert.alertId, actor, reason))) throw notOpen();
    return { seeOther: '/operator/alerts?done=alert' };
  });
  return [...list, ...show, ...clear];

  async function findOpen(id: string): Promise<Alert> {
    const [alert] = (await listAlerts(sql, { alertId: Number(id) }, 1)).alerts;
    if (!alert) throw notOpen();
    return alert;
  }
}

const notOpen = () =>
  new DomainError('NOT_FOUND', 'There is no such alert, or it is cleared already');

function clearView(alert: Alert, state: FormState) {
  const reason = { name: 'reason', label: 'Reason', hint: 'For the audit log.', required: true };
  const content = [
    section('alert', 'The alert', ...alertFacts(alert)),
    form(
      `/operator/alerts/${alert.alertId}/clear`,
      {},
      textArea({ ...reason, maxLength: MAX_REASON_LENGTH }, state),
      submit('Clear the alert'),
    ),
  ];
  return { title: 'Clear an alert', content };
}

/** Alerts with what to do about them. */
export function alertList(alerts: readonly Alert[], role: OperatorRole) {
  if (alerts.length === 0) return h('p', { class: 'empty' }, 'No alert is open.');
  const mayClear = mayDo(role, 'alert.clear');
  return h(
    'ul',
    { class: 'list' },
    alerts.map((alert) =>
      h(
        'li',
        { key: alert.alertId, class: 'card' },
        alertFacts(alert),
        mayClear &&
          h('p', null, link(`/operator/alerts/${alert.alertId}/clear`, 'Clear this alert …')),
      ),
    ),
  );
}

function alertFacts(alert: Alert) {
  const { kind, subject, count, lastAt, message, remedy, details } = alert;
  const error = details['error'];
  const order = orderOf(alert);
  return [
    h('h3', null, message),
    h(
      'p',
      { class: 'hint' },
      h('code', null, kind),
      ` · raised ${count === 1 ? 'once' : `${count} times`}, last `,
      moment(lastAt),
    ),
    h('p', null, 'About ', order === subject ? orderLink(subject) : h('code', null, subject)),
    order !== undefined && order !== subject && h('p', null, 'Order ', orderLink(order)),
    typeof error === 'string' && h('blockquote', { dir: 'auto' }, error),
    h('p', null, h('strong', null, 'What to do: '), remedy),
  ];
}

/** The order that an alert is about, if it is about one. */
function orderOf({ subject, details }: Alert): string | undefined {
  if (subject.startsWith('ORD')) return subject;
  const { orderNumber } = details;
  return typeof orderNumber === 'string' ? orderNumber : undefined;
}
