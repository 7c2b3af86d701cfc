import { required, type Config } from '../src/config.ts';
import { connectDatabase } from '../src/db/client.ts';
import type { Environment } from '../src/domain/index.ts';
import { loadDevConfig } from './config.ts';
import { readDemoMerchant, writeDemoMerchant, type DemoMerchant } from './dev-facts.ts';
import { changeMerchantStatus, createMerchant } from '../src/merchants/commands.ts';
import { verifySecret, type KeyPair } from '../src/merchants/credentials.ts';
import { createKeyPair, rotateSecret, type KeyDeps } from '../src/merchants/keys.ts';
import { findKeyHolder, findMerchant } from '../src/merchants/queries.ts';
import { openWebhookSecret } from '../src/webhooks/endpoints.ts';
import { createSecretBox } from '../src/secret-box.ts';
import { runMain } from '../src/main/process.ts';

async function registerMerchant(deps: KeyDeps): Promise<DemoMerchant> {
  const { merchantId } = await createMerchant(deps, {
    name: 'Demo Bazaar',
    email: 'demo@example.com',
  });
  await changeMerchantStatus(deps, merchantId, 'approve');
  const sandbox = await createKeyPair(deps, merchantId, 'sandbox');
  const production = await createKeyPair(deps, merchantId, 'production');
  return { merchantId, sandbox, production };
}

/** The key pair of the file, or a new secret if the file's one is no longer valid. */
async function withValidSecret(
  deps: KeyDeps,
  merchantId: string,
  environment: Environment,
  known: KeyPair,
): Promise<KeyPair> {
  const { isKnown, secretHmac } = await findKeyHolder(deps.sql, environment, known.apiKey);
  const isValid = isKnown && verifySecret(deps.pepper, known.apiSecret, secretHmac);
  return isValid ? known : rotateSecret(deps, merchantId, environment);
}

/**
 * The demo merchant of the file, if the database has it. Its API keys stay the same; a secret that a
 * rotation or another pepper has invalidated is replaced.
 */
async function findDemoMerchant(deps: KeyDeps, dataDir: string): Promise<DemoMerchant | undefined> {
  const known = readDemoMerchant(dataDir);
  if (known === undefined) return undefined;
  const { merchantId } = known;
  if (!(await findMerchant(deps.sql, merchantId))) return undefined;
  const sandbox = await withValidSecret(deps, merchantId, 'sandbox', known.sandbox);
  const production = await withValidSecret(deps, merchantId, 'production', known.production);
  return { merchantId, sandbox, production };
}

/** Adds the current webhook secrets, where a URL is set. */
async function withWebhookSecrets(
  { sql }: KeyDeps,
  config: Config,
  { merchantId, sandbox, production }: DemoMerchant,
): Promise<DemoMerchant> {
  const keys = required(config, 'WEBHOOK_SECRET_KEYS');
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
 * Creates the demo merchant unless it exists, approved and with keys for both environments, and
 * writes it to `demo-merchant.json` (mode 0600) in the data directory.
 */
await runMain({ name: 'seed', load: loadDevConfig }, async (config) => {
  const databaseUrl = required(config, 'DATABASE_URL');
  const pepper = required(config, 'API_SECRET_PEPPER');
  const sql = connectDatabase(databaseUrl, { maxConnections: 1, name: 'seed' });
  const deps = { sql, pepper, actor: { name: 'seed', address: null } };
  const merchant = (await findDemoMerchant(deps, config.dataDir)) ?? (await registerMerchant(deps));
  writeDemoMerchant(config.dataDir, await withWebhookSecrets(deps, config, merchant));
  await sql.end({ timeout: 1 });
});
