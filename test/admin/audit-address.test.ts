import { glob, readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { expect } from 'vitest';
import { clearAlertById, listAlerts, raiseAlert } from '../../src/alerts/alerts.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import { createKeyPair, rotateSecret } from '../../src/merchants/keys/keys.ts';
import { setOrigins } from '../../src/merchants/origins.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import {
  removeWebhookUrl,
  rotateWebhookSecret,
  saveWebhookUrl,
} from '../../src/webhooks/endpoints/endpoints.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

test('the audit log has the name and the address of whoever made a change', async ({
  database: { serviceSql: sql },
}) => {
  const actor = { name: 'operator:asha@example.com', address: '203.0.113.7' };
  const secretBox = createSecretBox(`test:${Buffer.alloc(32, 7).toString('base64')}`);
  const checkUrl = (url: string) =>
    Promise.resolve({ ok: true, url: new URL(url), warning: null } as const);
  const admin = { sql, actor, pepper: 'pepper', secretBox, checkUrl };
  const { merchantId } = await createMerchant(admin, { name: 'Asha', email: 'a@example.com' });
  await changeMerchantStatus(admin, merchantId, 'approve');
  await createKeyPair(admin, merchantId, 'sandbox');
  await rotateSecret(admin, merchantId, 'sandbox');
  await setOrigins(admin, merchantId, 'sandbox', ['https://shop.example.com']);
  await saveWebhookUrl(admin, merchantId, 'sandbox', 'https://shop.example.com/webhooks');
  await rotateWebhookSecret(admin, merchantId, 'sandbox');
  await removeWebhookUrl(admin, merchantId, 'sandbox');
  const log = pino({ level: 'silent' });
  await raiseAlert({ sql, log }, { kind: 'clock_skew', subject: 'host-1', message: 'Late' });
  const [alert] = (await listAlerts(sql, {}, 1)).alerts;
  await clearAlertById(sql, Number(alert?.alertId), actor, 'The clock is right');

  const rows = await sql<{ action: string; actor: string; address: string }[]>`
    SELECT action, actor, address FROM audit_log ORDER BY audit_id`;
  expect(rows.map(({ action }) => action)).toEqual([
    'merchant.create',
    'merchant.approve',
    'key.create',
    'key.rotate',
    'origins.set',
    'webhook.set',
    'webhook.rotate_secret',
    'webhook.remove',
    'alert.clear',
  ]);
  const { name, address } = actor;
  expect(rows).toEqual(rows.map(({ action }) => ({ action, actor: name, address })));
});

test('every statement that writes to the audit log writes the address', async () => {
  const columns: string[] = [];
  for await (const file of glob('src/**/*.ts')) {
    const source = await readFile(file, 'utf8');
    columns.push(...(source.match(/INSERT INTO audit_log \([^)]*\)/g) ?? []));
  }
  expect(columns.length).toBeGreaterThanOrEqual(17);
  expect(columns.filter((list) => !list.includes('(actor, address, '))).toEqual([]);
});
