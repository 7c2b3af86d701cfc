import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DemoMerchant } from '../../src/local/dev-facts.ts';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import { adminCli } from '../support/admin-cli.ts';
import { createApiClient } from '../support/api-client.ts';
import { runPart } from '../support/run-part.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let service: TestService;
beforeAll(async () => void (service = await startTestService({ time: 'real' })));
afterAll(() => service?.stop());

/** What every `npm start` does on this data directory. */
async function seed(dataDir: string, settings: Record<string, string> = {}): Promise<DemoMerchant> {
  const env = { ...service.env, DATA_DIR: dataDir, ...settings };
  expect(await runPart('seed.ts', env)).toEqual({ code: 0, stdout: '', stderr: '' });
  return JSON.parse(readFileSync(join(dataDir, 'demo-merchant.json'), 'utf8'));
}

const statusWith = async (keys: KeyPair) =>
  (await createApiClient(service.origin, keys, 'sandbox').get('/orders')).status;

describe('the keys of the demo merchant that a start prints', () => {
  test('are the same at every start', async () => {
    const dataDir = temporaryFolder();
    const first = await seed(dataDir);
    expect(await statusWith(first.sandbox)).toBe(200);
    expect(await seed(dataDir)).toEqual(first);
  });

  test('work after one of them was rotated, and the other stays', async () => {
    const dataDir = temporaryFolder();
    const { merchantId, sandbox, production } = await seed(dataDir);
    await adminCli(service.env).json('key', 'rotate', '--merchant', merchantId);
    expect(await statusWith(sandbox)).toBe(401);
    const after = await seed(dataDir);
    expect(after.sandbox.apiKey).toBe(sandbox.apiKey);
    expect(await statusWith(after.sandbox)).toBe(200);
    expect(after.production).toEqual(production);
    expect(await seed(dataDir)).toEqual(after);
  });

  test('work after the pepper has changed', async () => {
    const dataDir = temporaryFolder();
    await seed(dataDir, { API_SECRET_PEPPER: 'another pepper, also of 32 characters' });
    expect(await statusWith((await seed(dataDir)).sandbox)).toBe(200);
  });
});
