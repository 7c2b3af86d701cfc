import { clearAlertById, listAlerts } from '../../alerts/alerts.ts';
import type { AdminCommand } from './command.ts';
import { countOf, defineCommand, LIMIT, limitOf, UsageError } from './command.ts';
import { blocks, moreHint, table } from './text.ts';

const listCommand = defineCommand({
  name: 'alert list',
  summary: 'List alerts, the latest first, each kind with its remedy',
  options: {
    kind: { value: 'NAME', help: 'Only of this kind, such as gateway_refused' },
    subject: { value: 'TEXT', help: 'Only of this order number, gateway payment id, …' },
    all: { flag: true, help: 'Include cleared alerts' },
    limit: LIMIT,
  },
  async run({ sql }, { kind, subject, all, limit }) {
    const data = await listAlerts(sql, { kind, subject, withCleared: all }, limitOf(limit));
    const rows = data.alerts.map((alert) => [
      alert.alertId,
      alert.lastAt,
      alert.count,
      alert.kind,
      alert.subject,
      alert.message,
      ...(all ? [alert.clearedAt, alert.clearedBy] : []),
    ]);
    const titles = [
      'ID',
      'LAST AT',
      'COUNT',
      'KIND',
      'OF',
      'WHAT',
      ...(all ? ['CLEARED', 'BY'] : []),
    ];
    const remedies = new Map(data.alerts.map(({ kind: of, remedy }) => [of, remedy]));
    const help = [...remedies].map(([of, remedy]) => `${of}: ${remedy}`).join('\n');
    return { data, text: blocks(table(titles, rows), help, moreHint(data.hasMore)) };
  },
});

const clearCommand = defineCommand({
  name: 'alert clear',
  summary: 'Clear an alert whose cause is resolved',
  notes: 'It is raised again if its cause recurs.',
  options: {
    id: { value: 'ID', help: 'The id that alert list shows', required: true },
    reason: { value: 'TEXT', help: 'What was done, for the audit log', required: true },
  },
  async run({ sql, actor }, { id, reason }) {
    const alertId = countOf('id', id);
    if (!(await clearAlertById(sql, alertId, actor, reason))) {
      throw new UsageError(`There is no alert ${alertId}, or it is cleared already`);
    }
    return { data: { alertId }, text: `Alert ${alertId} is cleared.` };
  },
});

/** The commands for alerts. */
export const ALERT_COMMANDS: readonly AdminCommand[] = [listCommand, clearCommand];
