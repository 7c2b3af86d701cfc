import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { z } from 'zod';
import type { OperatorRole } from '../../accounts/public.ts';
import { mayDo } from '../../accounts/public.ts';
import type { Alert } from '../../alerts/alerts.ts';
import { clearAlertById, listAlerts } from '../../alerts/alerts.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import { submit } from '../view/fields.ts';
import { emptyState, hint, moment, objectHead, section, wordsOf } from '../view/parts.ts';
import { chips } from '../view/pages.ts';
import { pager } from '../view/table.ts';
import { form, link } from '../view/url.ts';
import { aboutAlert, remediesOf } from './alert-remedies.ts';
import { actionNotice, operatorPage, reasonField, ROWS_PER_PAGE } from './parts.ts';

const MAX_REASON_LENGTH = 1000;

const alertId = z.string().regex(/^\d{1,15}$/);
const ofAlert = z.object({ alert: alertId });

const TITLES = { open: 'Open alerts', cleared: 'Cleared alerts' } as const;
const CHIPS = { '': TITLES.open, cleared: TITLES.cleared };
const PATH = '/operator/alerts';
const NONE = {
  open: 'No alert is open.',
  cleared: 'No alert was cleared.',
} as const;

const CLEARING = { permission: 'alert.clear', params: ofAlert } as const;

export const alertPages = [
  operatorPage('GET /alerts', {
    query: z.object({
      show: z.enum(['open', 'cleared']).catch('open'),
      before: alertId.optional(),
      done: z.string().optional(),
    }),
  }).handledBy(async ({ query: { show, before, done }, viewer }, { sql }) => {
    const shown = show === 'open' ? undefined : show;
    const asked = { show, before: before === undefined ? undefined : Number(before) };
    const { alerts, hasMore } = await listAlerts(sql, asked, ROWS_PER_PAGE);
    const next = hasMore ? String(alerts.at(-1)?.alertId) : undefined;
    const content = [
      actionNotice(done),
      chips('Which alerts', { path: PATH, filters: {}, name: 'show', chosen: shown }, CHIPS),
      alerts.length > 0 && h('h2', { class: 'hidden' }, TITLES[show]),
      alertList(alerts, viewer.role, NONE[show]),
      pager(PATH, { show: shown }, { before, next }),
    ];
    return { view: { title: 'Alerts', content } };
  }),
  operatorPage('GET /alerts/{alert}/clear', CLEARING).handledBy(
    async ({ params, viewer }, { sql }) => ({
      view: clearView(await findOpen(sql, params.alert), viewer.role),
    }),
  ),
  operatorPage('POST /alerts/{alert}/clear', {
    ...CLEARING,
    body: z.object({ reason: z.string().default('') }),
  }).handledBy(async ({ params, body, actor }, { sql }) => {
    const alert = await findOpen(sql, params.alert);
    const reason = body.reason.trim();
    if (reason === '' || [...reason].length > MAX_REASON_LENGTH) {
      const violation = `The reason must be 1 to ${MAX_REASON_LENGTH} characters and not blank`;
      throw new ValidationError({ reason: violation });
    }
    if (!(await clearAlertById(sql, alert.alertId, actor, reason))) throw notOpen();
    return { seeOther: '/operator/alerts?done=alert' };
  }),
];

async function findOpen(sql: Sql, id: string): Promise<Alert> {
  const [alert] = (await listAlerts(sql, { alertId: Number(id) }, 1)).alerts;
  if (!alert) throw notOpen();
  return alert;
}

const notOpen = () =>
  new DomainError('NOT_FOUND', 'There is no such alert, or it is cleared already');

function clearView(alert: Alert, role: OperatorRole) {
  const title = 'Clear an alert';
  const way = { path: '/operator/alerts', list: 'Alerts', one: `Alert ${alert.alertId}` };
  const content = [
    objectHead(way, title),
    section('alert', 'The alert', ...alertFacts(alert, role)),
    form(
      `/operator/alerts/${alert.alertId}/clear`,
      {},
      reasonField('For the audit log.', { maxLength: MAX_REASON_LENGTH }),
      submit('Clear the alert'),
    ),
  ];
  return { title, content, hasOwnHeading: true };
}

export function alertList(alerts: readonly Alert[], role: OperatorRole, empty: string = NONE.open) {
  if (alerts.length === 0) return emptyState(empty, 'circle-check');
  const mayClear = mayDo(role, 'alert.clear');
  return h(
    'ul',
    { class: 'list' },
    alerts.map((alert) =>
      h(
        'li',
        { key: alert.alertId, class: 'card alert' },
        alertFacts(
          alert,
          role,
          mayClear &&
            alert.clearedAt === null &&
            link(`/operator/alerts/${alert.alertId}/clear`, 'Clear this alert…'),
        ),
      ),
    ),
  );
}

function alertFacts(alert: Alert, role: OperatorRole, clearLink: ComponentChildren = null) {
  const { kind, count, lastAt, message, remedy, details, clearedAt } = alert;
  const error = details['error'];
  return [
    h('h3', null, message || wordsOf(kind)),
    hint(
      h('code', null, kind),
      ` · raised ${count === 1 ? 'once' : `${count} times`}, last `,
      moment(lastAt),
    ),
    aboutAlert(alert),
    typeof error === 'string' && h('blockquote', { dir: 'auto' }, error),
    clearedAt === null
      ? [
          h('p', null, h('strong', null, 'What to do: '), remedy),
          remediesOf(alert, role, clearLink),
        ]
      : clearedText(alert, clearedAt),
  ];
}

function clearedText({ clearedBy, clearedReason }: Alert, clearedAt: Date) {
  const by = clearedBy === 'service' ? 'the service' : clearedBy;
  const reason = clearedReason === null ? '. ' : [': ', h('bdi', null, clearedReason), '. '];
  return h('p', null, h('strong', null, `Cleared by ${by}`), reason, moment(clearedAt));
}
