import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { connectDatabase } from '../db/client.ts';
import { demoMerchantSchema, type DemoMerchant } from '../local/dev-facts.ts';
import { writePrivateFile } from '../local/private-file.ts';
import { changeMerchantStatus, createMerchant } from '../merchants/commands.ts';
import { createKeyPair, type KeyDeps } from '../merchants/keys.ts';
import { findMerchant } from '../merchants/queries.ts';
import { openWebhookSecret } from '../webhooks/endpoints.ts';
import { createSecretBox } from '../webhooks/secret-box.ts';
import { required } from './compose.ts';
import { runMain } from './process.ts';

async function enrolMerchant(deps: KeyDeps): Promise<DemoMerchant> {
  const { merchant_id: merchantId } = await createMerchant(deps, {
    name: 'Demo Bazaar',
    email: 'demo@example.com',
  });
  await changeMerchantStatus(deps, merchantId, 'approve');
  const sandbox = await createKeyPair(deps, merchantId, 'sandbox');
  const production = await createKeyPair(deps, merchantId, 'production');
  return { merchantId, sandbox, production };
}

/** The demo merchant that the file tells of, if the database still has it: its keys stay the same. */
async function findDemoMerchant({ sql }: KeyDeps, file: string): Promise<DemoMerchant | undefined> {
  if (!existsSync(file)) return undefined;
  const known = demoMerchantSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  return (await findMerchant(sql, known.merchantId)) && known;
}

/** The merchant with the webhook secrets as they are now, where a URL is set. */
async function withWebhookSecrets(
  { sql }: KeyDeps,
  { webhookSecretKeys }: Config,
  { merchantId, sandbox, production }: DemoMerchant,
): Promise<DemoMerchant> {
  const keys = required(webhookSecretKeys, 'WEBHOOK_SECRET_KEYS', 'id:base64 of 32 bytes');
  const deps = { sql, secretBox: createSecretBox(keys) };
  const [ofSandbox, ofProduction] = await Promise.all([
    openWebhookSecret(deps, merchantId, 'sandbox'),
    openWebhookSecret(deps, merchantId, 'production'),
  ]);
  return {
    merchantId,
    sandbox: { ...sandbox, webhookSecret: ofSandbox },
    production: { ...production, webhookSecret: ofProduction },
  };
}

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
  const merchant = (await findDemoMerchant(deps, file)) ?? (await enrolMerchant(deps));
  const facts = await withWebhookSecrets(deps, config, merchant);
  writePrivateFile(file, `${JSON.stringify(facts, null, 2)}\n`);
  await sql.end({ timeout: 1 });
});
