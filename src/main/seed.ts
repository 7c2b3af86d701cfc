import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectDatabase } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { changeMerchantStatus, createMerchant } from '../merchants/commands.ts';
import type { KeyPair } from '../merchants/credentials.ts';
import { createKeyPair } from '../merchants/keys.ts';
import { findMerchant } from '../merchants/queries.ts';
import { required } from './compose.ts';
import { runMain } from './process.ts';

/** The demo merchant's facts, kept so that its keys are the same at every start. */
type DemoMerchant = { merchantId: string } & Record<Environment, KeyPair>;

/**
 * Makes sure that the demo merchant exists, approved and with keys for both environments, and
 * writes its facts to `demo-merchant.json` (mode 0600) in the data directory.
 */
await runMain(async (config) => {
  const databaseUrl = required(config.databaseUrl, 'DATABASE_URL', 'a postgres:// address');
  const pepper = required(config.apiSecretPepper, 'API_SECRET_PEPPER', 'at least 32 characters');
  const file = join(config.dataDir, 'demo-merchant.json');
  const sql = connectDatabase(databaseUrl, { maxConnections: 1, name: 'seed' });
  const deps = { sql, pepper, actor: 'seed' };
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as DemoMerchant) : null;
  if (!known || !(await findMerchant(sql, known.merchantId))) {
    const { merchant_id: merchantId } = await createMerchant(deps, {
      name: 'Demo Bazaar',
      email: 'demo@example.com',
    });
    await changeMerchantStatus(deps, merchantId, 'approve');
    const sandbox = await createKeyPair(deps, merchantId, 'sandbox');
    const production = await createKeyPair(deps, merchantId, 'production');
    await writePrivately(file, JSON.stringify({ merchantId, sandbox, production }, null, 2));
  }
  await sql.end({ timeout: 1 });
});

async function writePrivately(file: string, text: string): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
