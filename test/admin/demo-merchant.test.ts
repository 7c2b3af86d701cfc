import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { DemoMerchant } from '../../dev/dev-facts.ts';
import type { KeyPair } from '../../src/merchants/credentials.ts';
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
    await seed(service, dataDir, { API_SECRET_PEPPER: 'another pepper, also of 32 characters' });
    expect(await statusWith(service, (await seed(service, dataDir)).sandbox)).toBe(200);
  });
});
