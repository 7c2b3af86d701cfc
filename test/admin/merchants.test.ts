import { describe, expect } from 'vitest';
import type { StatusChange } from '../../src/merchants/commands.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import { listKeys } from '../../src/merchants/keys/keys.ts';
import { findOrigins, setOrigins } from '../../src/merchants/origins.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import { createApiClient } from '../support/api-client.ts';
import { auditOf } from '../support/audit.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

interface Merchant {
  merchantId: string;
  name: string;
  status: string;
  statusReason: string | null;
  linkedAccounts: Record<string, string>;
  warning: string | null;
}
interface Keys {
  merchantId: string;
  environment: string;
  apiKey: string;
  apiSecret: string;
}

const test = serviceTest({ time: 'real', worker: false });

async function aMerchant(service: TestService, ...changes: StatusChange[]): Promise<string> {
  const deps = { sql: service.sql, actor: TEST_ACTOR };
  const merchant = { name: 'Asha Textiles', email: 'asha@example.com' };
  const { merchantId } = await createMerchant(deps, merchant);
  for (const change of changes) await changeMerchantStatus(deps, merchantId, change);
  return merchantId;
}

async function aMerchantWithKeys(service: TestService, cli: AdminCli) {
  const merchantId = await aMerchant(service, 'approve');
  return { merchantId, keys: await createKey(cli, merchantId) };
}

const createKey = (cli: AdminCli, merchantId: string, environment = 'sandbox') =>
  cli.json<Keys>('key', 'create', '--merchant', merchantId, '--environment', environment);

async function statusWith(service: TestService, keys: Keys): Promise<number> {
  return (await createApiClient(service.origin, keys, 'sandbox').call('GET', '/orders')).status;
}

describe('a merchant', () => {
  test('is created, approved, suspended and activated, each with an audit row', async ({
    service,
    cli,
  }) => {
    const created = ['merchant', 'create', '--name', ' Asha ', '--email', 'asha@example.com'];
    const merchant = await cli.json<Merchant>(...created);
    expect(merchant).toMatchObject({ name: 'Asha', status: 'PENDING', linkedAccounts: {} });
    const { merchantId } = merchant;
    const change = (verb: string, ...options: string[]) =>
      (verb === 'suspend' ? cli : cli.alone).json<Merchant>(
        'merchant',
        verb,
        '--merchant',
        merchantId,
        ...options,
      );
    expect(await change('approve')).toMatchObject({ merchantId, status: 'APPROVED' });
    expect(await change('suspend', '--reason', 'odd')).toMatchObject({
      status: 'SUSPENDED',
      statusReason: 'odd',
    });
    expect(await change('activate')).toMatchObject({ status: 'APPROVED', statusReason: null });
    const audit = await auditOf(service.sql, merchantId);
    expect(audit.map(({ action }) => action)).toEqual([
      'merchant.create',
      'break-glass',
      'merchant.approve',
      'merchant.suspend',
      'break-glass',
      'merchant.activate',
    ]);
    expect(audit[3]?.details).toMatchObject({ status: 'SUSPENDED', reason: 'odd' });
    expect(audit[3]?.actor).toMatch(/^cli:./);
  });

  test('that is pending cannot be activated without its approval', async ({ service, cli }) => {
    const merchantId = await aMerchant(service);
    const line = await cli.alone.refusal('merchant', 'activate', '--merchant', merchantId);
    expect(line).toBe('Cannot activate; merchant must be SUSPENDED or APPROVED, and is PENDING');
  });

  test('that does not exist is named in the refusal and leaves no audit row', async ({
    service,
    cli,
  }) => {
    const line = await cli.alone.refusal('merchant', 'approve', '--merchant', 'mer_none');
    expect(line).toBe('Merchant not found: mer_none');
    expect(await auditOf(service.sql, 'mer_none')).toEqual([]);
  });

  test.for([
    ['--name', ' ', '--email', 'a@example.com', 'name must not be blank'],
    ['--name', 'A', '--email', 'nobody', 'email must be a valid email address'],
  ] as const)('is refused with %s "%s" %s "%s"', async ([...args], { cli }) => {
    expect(await cli.refusal('merchant', 'create', ...args.slice(0, 4))).toBe(args[4]);
  });

  test('is approved for the sandbox without a linked account, with a warning about payouts', async ({
    service,
    cli,
  }) => {
    const merchantId = await aMerchant(service);
    const approve = ['merchant', 'approve', '--merchant', merchantId];
    const first = await cli.alone.json<Merchant>(...approve);
    expect(first).toMatchObject({ linkedAccounts: {}, status: 'APPROVED' });
    expect(first.warning).toContain('it has no linked account');
    const second = await cli.alone.json<Merchant>(
      ...approve,
      '--linked-account',
      'acc_A1b2C3d4E5f6G7',
    );
    expect(second).toMatchObject({
      linkedAccounts: { production: 'acc_A1b2C3d4E5f6G7' },
      warning: null,
    });
    const third = await cli.alone.refusal(...approve, '--linked-account', 'acc 1');
    expect(third).toContain('must be an id of the gateway');
  });

  test('is listed with the others, newest first, and by status', async ({ service, cli }) => {
    const older = await aMerchant(service);
    const newer = await aMerchant(service, 'approve', 'suspend');
    const ids = async (...options: string[]) =>
      (await cli.json<Merchant[]>('merchant', 'list', ...options)).map(
        ({ merchantId }) => merchantId,
      );
    expect((await ids()).filter((id) => id === older || id === newer)).toEqual([newer, older]);
    expect(await ids('--status', 'SUSPENDED')).toEqual([newer]);
    const { stdout } = await cli.run('merchant', 'list', '--status', 'SUSPENDED');
    expect(stdout).toContain('MERCHANT');
    expect(stdout).toContain(newer);
  });
});

describe('keys', () => {
  test('are created only after the approval', async ({ service, cli }) => {
    const merchantId = await aMerchant(service);
    expect(await cli.refusal('key', 'create', '--merchant', merchantId)).toBe(
      'Merchant must be approved first',
    );
    expect((await auditOf(service.sql, merchantId)).map(({ action }) => action)).toEqual([
      'merchant.create',
    ]);
  });

  test('of both environments have their own prefixes and work immediately', async ({
    service,
    cli,
  }) => {
    const merchantId = await aMerchant(service, 'approve');
    const sandbox = await createKey(cli, merchantId);
    const production = await createKey(cli, merchantId, 'production');
    expect(sandbox).toMatchObject({ merchantId, environment: 'sandbox' });
    expect(sandbox.apiKey).toMatch(/^mk_test_[0-9A-Za-z]{36}$/);
    expect(sandbox.apiSecret).toMatch(/^sk_test_[0-9A-Za-z]{36}$/);
    expect(production.apiKey).toMatch(/^mk_live_/);
    expect(production.apiSecret).toMatch(/^sk_live_/);
    expect(await statusWith(service, sandbox)).toBe(200);
    expect(await statusWith(service, production)).toBe(401);
  });

  test('are one pair for each environment: a second create refers to the rotation', async ({
    service,
    cli,
  }) => {
    const { merchantId, keys } = await aMerchantWithKeys(service, cli);
    const line = await cli.refusal('key', 'create', '--merchant', merchantId);
    expect(line).toContain('rotate its secret');
    expect(await statusWith(service, keys)).toBe(200);
  });

  test('are rotated: the key stays, the old secret is 401 on the very next request', async ({
    service,
    cli,
  }) => {
    const { merchantId, keys: before } = await aMerchantWithKeys(service, cli);
    const after = await cli.json<Keys>('key', 'rotate', '--merchant', merchantId);
    expect(after.apiKey).toBe(before.apiKey);
    expect(after.apiSecret).not.toBe(before.apiSecret);
    expect(await statusWith(service, before)).toBe(401);
    expect(await statusWith(service, after)).toBe(200);
    const [created, ...rotated] = (await auditOf(service.sql, merchantId)).slice(-2);
    expect(created?.action).toBe('key.create');
    const { apiKey, apiSecret } = after;
    expect(rotated).toMatchObject([{ action: 'key.rotate', subject: apiKey }]);
    expect(rotated[0]?.actor).toMatch(/^cli:./);
    expect(JSON.stringify(rotated)).not.toContain(apiSecret);
  });

  test('cannot be rotated before they are created', async ({ service, cli }) => {
    const merchantId = await aMerchant(service, 'approve');
    expect(await cli.refusal('key', 'rotate', '--merchant', merchantId)).toContain('create one');
  });

  test('are listed without their secrets, which the audit log does not contain either', async ({
    service,
    cli,
  }) => {
    const { merchantId, keys } = await aMerchantWithKeys(service, cli);
    const { apiKey, apiSecret } = keys;
    const [listed] = await listKeys(service.sql, merchantId);
    expect(listed).toMatchObject({ apiKey, environment: 'sandbox', rotatedAt: null });
    const audit = await auditOf(service.sql, merchantId);
    expect(JSON.stringify([listed, audit])).not.toContain(apiSecret);
    expect(audit.at(-1)).toMatchObject({ action: 'key.create', subject: apiKey });
  });
});

describe('origins', () => {
  test('are stored as browsers send them, without duplicates', async ({ service }) => {
    const merchantId = await aMerchant(service, 'approve');
    const given = ['https://Shop.Example.com:443/', ' shop.example.com', 'http://localhost:3000'];
    const deps = { sql: service.sql, actor: TEST_ACTOR };
    const origins = await setOrigins(deps, merchantId, 'sandbox', [...given, 'दुकान.भारत']);
    expect(origins).toEqual([
      'https://shop.example.com',
      'http://localhost:3000',
      'https://xn--11b7ah1gn.xn--h2brj9c',
    ]);
    expect(await findOrigins(service.sql, merchantId, 'sandbox')).toEqual(origins);
    expect((await auditOf(service.sql, merchantId)).at(-1)).toMatchObject({
      action: 'origins.set',
      details: { environment: 'sandbox', origins },
    });
  });

  test.for([
    'https://shop.example.com/path',
    'https://user@shop.example.com',
    'https://*.example.com',
    'ftp://shop.example.com',
    'https://',
    'https://shop.example.com?x',
  ])('refuse %s', async (origin, { service }) => {
    const deps = { sql: service.sql, actor: TEST_ACTOR };
    await expect(setOrigins(deps, 'mer_none', 'sandbox', [origin])).rejects.toThrow('is no origin');
  });
});
