import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { disableOperator } from '../../src/accounts/people/operators.ts';
import { listAlerts } from '../../src/alerts/alerts.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import { requireMerchant } from '../../src/merchants/queries.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import { adminCli } from '../support/admin-cli.ts';
import { anAccountId } from '../support/linked-accounts.ts';
import { mailsTo } from '../support/mails.ts';
import { PART_ENVIRONMENT } from '../support/part-environment.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { codeOf, operatorUser, PASSWORD, TOTP_SECRET } from '../support/users.ts';

const ADMIN = join(import.meta.dirname, '../../src/main/admin.ts');
const REASON = 'The dashboard is away';
const IN_TWO = 'needs two operators: propose it on the dashboard, or add --as EMAIL --break-glass';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

/** The command line of an operator who types this. */
function typing({ env }: TestService, ...typed: string[]): AdminCli {
  return adminCli(env, { askSecrets: async () => typed });
}
const alone = (email: string) => ['--as', email, '--break-glass', '--reason', REASON];

describe('what needs two operators', () => {
  test('does not exist in the terminal without --break-glass, and nothing is done', async ({
    service,
    merchant,
    cli,
  }) => {
    await operatorUser(service.sql, 'admin');
    const { email } = await operatorUser(service.sql, 'admin');
    const { merchantId } = merchant;
    for (const command of [
      ['merchant', 'approve', '--merchant', merchantId, '--linked-account', anAccountId()],
      ['merchant', 'activate', '--merchant', merchantId],
      ['operator', 'create', '--email', 'new@ops.example', '--role', 'admin'],
      ['operator', 'reset-two-factor', '--email', email],
      ['order', 'settle', '--order', 'ORD1', '--released', '--reason', REASON],
      ['merchant', 'activate', '--merchant', merchantId, '--break-glass', '--reason', REASON],
      ['merchant', 'activate', '--merchant', merchantId, '--as', email, '--reason', REASON],
      ['merchant', 'activate', '--merchant', merchantId, '--as', email, '--break-glass'],
    ]) {
      expect(await cli.refusal(...command), command.join(' ')).toContain(IN_TWO);
    }
    expect((await requireMerchant(service.sql, merchantId)).linkedAccounts).toEqual({});
  });

  test('is a decision above the amount, and none below it', async ({ service, orders, cli }) => {
    const { orderNumber } = await orders.write();
    const decide = ['dispute', 'decide', '--order', orderNumber, '--for', 'buyer', '--reason', 'R'];
    expect(await cli.refusal(...decide)).not.toContain(IN_TWO);
    const strict = adminCli({ ...service.env, PROPOSAL_ABOVE_PAISE: '0' });
    expect(await strict.refusal(...decide)).toContain(IN_TWO);
  });
});

describe('an act alone', () => {
  test('writes with the act one line of who, an alert, and mails to every operator and the merchant', async ({
    service,
  }) => {
    const { sql } = service;
    const { merchantId } = await service.newMerchant({ webhooks: false });
    const merchantEmail = 'lone-act@shop.example';
    await sql`UPDATE merchants SET email = ${merchantEmail} WHERE merchant_id = ${merchantId}`;
    const admin = await operatorUser(sql, 'admin');
    const support = await operatorUser(sql, 'support');
    const lately = await operatorUser(sql, 'finance');
    const longAgo = await operatorUser(sql, 'finance');
    const by = { sql, actor: TEST_ACTOR, publicBaseUrl: service.origin };
    for (const { email } of [lately, longAgo]) await disableOperator(by, email);
    await sql`UPDATE users SET disabled_at = now() - interval '31 days'
      WHERE user_id = ${longAgo.userId}`;
    const linkedAccountId = anAccountId();
    const account = ['--merchant', merchantId, '--linked-account', linkedAccountId];
    const cli = typing(service, PASSWORD, codeOf(TOTP_SECRET));
    await cli.json('merchant', 'approve', ...account, ...alone(admin.email));
    expect((await requireMerchant(sql, merchantId)).linkedAccounts).toEqual({
      production: linkedAccountId,
    });
    const lines = await listAudit(sql, { merchantId, action: 'break-glass' }, 10);
    expect(lines.entries).toMatchObject([
      {
        actor: `operator:${admin.email}`,
        reason: REASON,
        subject: merchantId,
        details: { kind: 'merchant.linkedAccount', terminal: expect.stringMatching(/^cli:/) },
      },
    ]);
    const { alerts } = await listAlerts(sql, { kind: 'break_glass_used', subject: merchantId }, 10);
    expect(alerts).toMatchObject([{ message: expect.stringContaining(admin.email) }]);
    for (const to of [admin.email, support.email, lately.email, merchantEmail]) {
      const mail = (await mailsTo(sql, to)).find(({ text }) => text.includes(merchantId));
      expect(mail?.text, to).toContain(`${admin.email} has done it alone`);
      expect(mail?.text).toContain(REASON);
    }
    expect(await mailsTo(sql, longAgo.email)).toEqual([]);
  });

  test('that is refused leaves nothing of it', async ({ service }) => {
    const { sql } = service;
    const admin = await operatorUser(sql, 'admin');
    const cli = typing(service, PASSWORD, codeOf(TOTP_SECRET));
    const activate = ['merchant', 'activate', '--merchant'];
    const [row] = await sql<{ merchantId: string }[]>`
      INSERT INTO merchants (merchant_id, name, email) VALUES ('mer_pending', 'P', 'p@example.com')
      RETURNING merchant_id`;
    const merchantId = row?.merchantId ?? '';
    expect(await cli.refusal(...activate, merchantId, ...alone(admin.email))).toContain(
      'merchant must be SUSPENDED or APPROVED',
    );
    expect((await listAudit(sql, { merchantId }, 10)).entries).toEqual([]);
    expect((await listAlerts(sql, { subject: merchantId }, 10)).alerts).toEqual([]);
    expect(
      (await mailsTo(sql, admin.email)).filter(({ text }) => text.includes(merchantId)),
    ).toEqual([]);
  });

  test('needs the password and the code, once, and the permission', async ({
    service,
    merchant,
  }) => {
    const { sql } = service;
    const { email } = await operatorUser(sql, 'admin');
    const finance = await operatorUser(sql, 'finance');
    const code = codeOf(TOTP_SECRET);
    const activate = ['merchant', 'activate', '--merchant', merchant.merchantId];
    const wrong = 'The e-mail address, the password or the code is wrong';
    for (const [who, ...typed] of [
      [email, 'another password', code],
      [email, PASSWORD, '000000'],
      ['nobody@ops.example', PASSWORD, code],
    ] as const) {
      const cli = typing(service, ...typed);
      expect(await cli.refusal(...activate, ...alone(who))).toContain(wrong);
    }
    const refused = await listAudit(sql, { action: 'break-glass.refuse' }, 10);
    expect(refused.entries).toHaveLength(3);
    const cli = typing(service, PASSWORD, code);
    expect(await cli.refusal(...activate, ...alone(finance.email))).toBe(
      'Your role, finance, does not allow this',
    );
    await cli.json(...activate, ...alone(email));
    expect(await cli.refusal(...activate, ...alone(email))).toContain(wrong);
  });

  test('reads both from standard input without a terminal, and refuses an input that ends before', async ({
    service,
  }) => {
    const { email } = await operatorUser(service.sql, 'admin');
    const { merchantId } = await service.newMerchant({ webhooks: false });
    const activate = ['merchant', 'activate', '--merchant', merchantId, ...alone(email)];
    const run = (input: string) =>
      spawnSync(process.execPath, [ADMIN, ...activate], {
        env: { ...PART_ENVIRONMENT, ...service.env },
        input,
        encoding: 'utf8',
      });
    const early = run(`${PASSWORD}\n`);
    expect([early.status, early.stderr]).toEqual([
      1,
      expect.stringContaining('no two-factor code'),
    ]);
    const done = run(`${PASSWORD}\n${codeOf(TOTP_SECRET)}\n`);
    expect([done.status, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toContain('APPROVED');
  });

  test('makes an operator with both factors of another one', async ({ service }) => {
    const { email } = await operatorUser(service.sql, 'admin');
    const cli = typing(service, PASSWORD, codeOf(TOTP_SECRET));
    const create = ['operator', 'create', '--email', 'alone@ops.example', '--role', 'support'];
    await cli.json(...create, ...alone(email));
    const lines = await listAudit(service.sql, { subject: 'alone@ops.example' }, 10);
    expect(lines.entries).toMatchObject([
      { actor: `operator:${email}`, action: 'break-glass', details: { kind: 'operator.create' } },
    ]);
  });
});
