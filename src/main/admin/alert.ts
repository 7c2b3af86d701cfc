import { clearAlertById, listAlerts } from '../../alerts/alerts.ts';
import { DomainError } from '../../domain/index.ts';
import { wholeNumber } from '../process/command-line.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand, LIMIT, REASON } from './command.ts';
import { blocks, list, moreHint } from './text.ts';

const alertsCommand = defineCommand({
  name: 'alert list',
  summary: 'List alerts, the latest first, each kind with its remedy',
  options: {
    kind: { value: 'NAME', help: 'Only of this kind, such as gateway_refused' },
    subject: { value: 'TEXT', help: 'Only of this order number, gateway payment id, …' },
    all: { flag: true, help: 'Include cleared alerts' },
    limit: LIMIT,
  },
  async run({ sql }, { kind, subject, all, limit }) {
    const data = await listAlerts(sql, { kind, subject, show: all ? 'all' : 'open' }, limit);
    const names = ['alertId', 'lastAt', 'count', 'kind', 'subject', 'message'] as const;
    const cleared = ['clearedAt', 'clearedBy', 'clearedReason'] as const;
    const alerts = list(data.alerts, all ? [...names, ...cleared] : names);
    const remedies = new Map(data.alerts.map(({ kind: of, remedy }) => [of, remedy]));
    const help = [...remedies].map(([of, remedy]) => `${of}: ${remedy}`).join('\n');
    return { data, text: blocks(alerts, help, moreHint(data.hasMore)) };
  },
});

const clearCommand = defineCommand({
  name: 'alert clear',
  summary: 'Clear an alert whose cause is resolved',
  notes: 'It is raised again if its cause recurs.',
  options: {
    id: {
      value: 'ID',
      help: 'The id that alert list shows',
      as: wholeNumber(1),
      required: true,
    },
    reason: { ...REASON, help: 'What was done, for the audit log' },
  },
  async run({ sql, actor }, { id: alertId, reason }) {
    if (!(await clearAlertById(sql, alertId, actor, reason))) {
      const message = `There is no alert ${alertId}, or it is cleared already`;
      throw new DomainError('NOT_FOUND', message);
    }
    return { data: { alertId }, text: `Alert ${alertId} is cleared.` };
  },
});

/** The commands for alerts. */
export const ALERT_COMMANDS: readonly AdminCommand[] = [alertsCommand, clearCommand];
