import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { DemoMerchant, DemoUsers } from '../../dev/dev-facts.ts';
import { currentCode } from '../../dev/start/demo-users.ts';
import { logIn, logInWithCode, readSession, type AccountDeps } from '../../src/accounts/public.ts';
import { hashPassword } from '../../src/accounts/passwords/passwords.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import { isComplete, readApplication } from '../../src/onboarding/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { adminCli } from '../support/admin-cli.ts';
import { createApiClient } from '../support/api-client.ts';
import { runPart } from '../support/run-part.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = serviceTest({ time: 'real', worker: false });

/** Does what every `npm start` does with this data directory. */
async function seed(
  service: TestService,
  dataDir: string,
  settings: Record<string, string> = {},
): Promise<DemoMerchant> {
  const env = { ...service.env, DATA_DIR: dataDir, ...settings };
  expect(await runPart('dev/seed.ts', env)).toEqual({ code: 0, stdout: '', stderr: '' });
  return JSON.parse(readFileSync(join(dataDir, 'demo-merchant.json'), 'utf8'));
}

const statusWith = async (service: TestService, keys: KeyPair) =>
  (await createApiClient(service.origin, keys, 'sandbox').get('/orders')).status;

describe('the demo merchant’s keys that a start prints', () => {
  test('are the same at every start', async ({ service }) => {
    const dataDir = temporaryFolder();
    const first = await seed(service, dataDir);
    expect(await statusWith(service, first.sandbox)).toBe(200);
    expect(await seed(service, dataDir)).toEqual(first);
  });

  test('work after one of them was rotated, and the other is unchanged', async ({ service }) => {
    const dataDir = temporaryFolder();
    const { merchantId, sandbox, production } = await seed(service, dataDir);
    await adminCli(service.env).json('key', 'rotate', '--merchant', merchantId);
    expect(await statusWith(service, sandbox)).toBe(401);
    const after = await seed(service, dataDir);
    expect(after.sandbox.apiKey).toBe(sandbox.apiKey);
    expect(await statusWith(service, after.sandbox)).toBe(200);
    expect(after.production).toEqual(production);
    expect(await seed(service, dataDir)).toEqual(after);
  });

  test('work after the pepper has changed', async ({ service }) => {
    const dataDir = temporaryFolder();
    await seed(service, dataDir, { API_SECRET_PEPPER: 'another pepper also of 32 characters' });
    expect(await statusWith(service, (await seed(service, dataDir)).sandbox)).toBe(200);
  });
});

const CLIENT = { address: '127.0.0.1', userAgent: 'a test' };

const accountDepsOf = ({ deps, config }: TestService): AccountDeps => ({
  sql: deps.sql,
  dataBox: createSecretBox(config.dataEncryptionKeys ?? ''),
  sendMail: async () => {},
  publicBaseUrl: config.publicBaseUrl,
  nowMs: Date.now,
});

const usersIn = (dataDir: string) =>
  JSON.parse(readFileSync(join(dataDir, 'demo-users.json'), 'utf8')) as DemoUsers;

/** Logs both demo users in, the operator with the current code. */
async function logBothIn(service: TestService, { merchant, operator }: DemoUsers) {
  const deps = accountDepsOf(service);
  const ofMerchant = await logIn(deps, merchant, CLIENT);
  expect(ofMerchant.next).toBe('session');
  const ofOperator = await logIn(deps, operator, CLIENT);
  expect(ofOperator.next).toBe('code');
  const { code } = currentCode(operator);
  const token = await logInWithCode(deps, ofOperator.token, code, CLIENT);
  return {
    merchant: await readSession(deps, ofMerchant.token),
    operator: await readSession(deps, token),
  };
}

test('the demo merchant has submitted a complete application and is approved', async ({
  service,
}) => {
  const { merchantId } = await seed(service, temporaryFolder());
  const application = await readApplication(service.sql, merchantId);
  expect(isComplete(application)).toBe(true);
  expect(application).toMatchObject({
    status: 'APPROVED',
    submissions: 1,
    business: { legalName: 'Demo Bazaar Private Limited', businessKind: 'company' },
  });
});

describe('the demo users that a start prints', () => {
  test('can log in to the dashboard, and are the same at every start', async ({ service }) => {
    const dataDir = temporaryFolder();
    const { merchantId } = await seed(service, dataDir);
    const users = usersIn(dataDir);
    expect(statSync(join(dataDir, 'demo-users.json')).mode & 0o777).toBe(0o600);
    expect(await logBothIn(service, users)).toMatchObject({
      merchant: { merchantId, email: users.merchant.email, role: null },
      operator: {
        merchantId: null,
        email: 'operator@example.com',
        role: 'admin',
        hasTwoFactor: true,
      },
    });
    await seed(service, dataDir);
    expect(usersIn(dataDir)).toEqual(users);
  });

  test('get new passwords when those from before no longer work', async ({ service }) => {
    const dataDir = temporaryFolder();
    await seed(service, dataDir);
    const before = usersIn(dataDir);
    await service.sql`
      UPDATE users SET password_hash = ${await hashPassword('another password')}, totp_last_step = NULL
      WHERE email IN (${before.merchant.email}, ${before.operator.email})`;
    await seed(service, dataDir);
    const after = usersIn(dataDir);
    expect(after.merchant.password).not.toBe(before.merchant.password);
    expect(after.operator.totpSecret).toBe(before.operator.totpSecret);
    await logBothIn(service, after);
  });

  test('get a new two-factor secret when the old one cannot be decrypted', async ({ service }) => {
    const dataDir = temporaryFolder();
    const other = { DATA_ENCRYPTION_KEYS: `other:${Buffer.alloc(32, 9).toString('base64')}` };
    await seed(service, dataDir, other);
    const before = usersIn(dataDir);
    await seed(service, dataDir);
    const after = usersIn(dataDir);
    expect(after.operator.totpSecret).not.toBe(before.operator.totpSecret);
    await logBothIn(service, after);
  });
});
