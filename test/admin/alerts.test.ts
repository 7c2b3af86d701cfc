import { pino } from 'pino';
import { expect } from 'vitest';
import type { Alert } from '../../src/alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../../src/alerts/alerts.ts';
import type { AlertKind } from '../../src/alerts/kinds.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import { adminCli } from '../support/admin-cli.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest().extend('cli', { scope: 'file' }, ({ database }) =>
  adminCli({ DATABASE_URL: database.url }),
);

const alertOf = (kind: AlertKind, subject: string, error?: Error) => ({
  kind,
  subject,
  message: `About ${subject}`,
  fields: { orderNumber: subject },
  error,
});
const list = (cli: AdminCli, ...options: string[]) =>
  cli.json<{ alerts: Alert[]; hasMore: boolean }>('alert', 'list', ...options);

test('an alert is one row for each subject, however often it is raised', async ({
  database: { serviceSql: sql },
  cli,
}) => {
  const deps = { sql, log: pino({ level: 'silent' }) };
  await raiseAlert(deps, alertOf('gateway_refused', 'ORD1', new Error('No balance')));
  await raiseAlert(deps, alertOf('gateway_refused', 'ORD2'));
  await raiseAlert(deps, alertOf('gateway_refused', 'ORD1', new Error('Still no balance')));
  const { alerts, hasMore } = await list(cli);
  expect(hasMore).toBe(false);
  expect(alerts.map(({ subject, count }) => [subject, count])).toEqual([
    ['ORD1', 2],
    ['ORD2', 1],
  ]);
  expect(alerts[0]).toMatchObject({
    kind: 'gateway_refused',
    message: 'About ORD1',
    details: { orderNumber: 'ORD1', error: 'Still no balance' },
    remedy: expect.stringContaining('admin order retry'),
    clearedAt: null,
  });
  const { stdout } = await cli.run('alert', 'list', '--subject', 'ORD2');
  expect(stdout).toMatch(/gateway_refused +ORD2 +About ORD2\n\ngateway_refused: Read the gateway/);
});

test('a cleared alert is not listed and has the operator who cleared it; its cause raises a new one', async ({
  database: { serviceSql: sql },
  cli,
}) => {
  const deps = { sql, log: pino({ level: 'silent' }) };
  await raiseAlert(deps, alertOf('wrong_amount', 'pay_1'));
  await raiseAlert(deps, alertOf('wrong_amount', 'pay_2'));
  await clearAlert(sql, 'wrong_amount', 'pay_1', 'the capture was refunded');
  const [open] = (await list(cli, '--kind', 'wrong_amount')).alerts;
  expect(open).toMatchObject({ subject: 'pay_2' });
  const id = String(open?.alertId);
  await cli.json('alert', 'clear', '--id', id, '--reason', 'Refunded by hand');
  expect((await list(cli, '--kind', 'wrong_amount')).alerts).toEqual([]);
  expect(await cli.refusal('alert', 'clear', '--id', id, '--reason', 'Again')).toBe(
    `There is no alert ${id}, or it is cleared already`,
  );
  const { alerts } = await list(cli, '--kind', 'wrong_amount', '--all');
  expect(
    alerts.map(({ subject, clearedBy, clearedReason }) => [subject, clearedBy, clearedReason]),
  ).toEqual([
    ['pay_2', expect.stringMatching(/^cli:/), 'Refunded by hand'],
    ['pay_1', 'service', 'the capture was refunded'],
  ]);
  const { entries } = await listAudit(sql, { action: 'alert.clear' }, 10);
  expect(entries.map(({ reason }) => reason)).toContain('Refunded by hand');
  await raiseAlert(deps, alertOf('wrong_amount', 'pay_1'));
  expect((await list(cli, '--kind', 'wrong_amount')).alerts).toMatchObject([
    { subject: 'pay_1', count: 1 },
  ]);
});
