import { randomBytes } from 'node:crypto';
import { required } from '../../src/config.ts';
import type { Sql } from '../../src/db/client.ts';
import type { Environment } from '../../src/domain/index.ts';
import type { DevConfig } from '../config.ts';
import { keptMerchant, keptUsers, type DemoMerchant, type DemoUsers } from '../dev-facts.ts';
import { submitDemoApplication } from './demo-application.ts';
import { ensureMerchantUser, ensureOperator, OPERATOR_EMAILS } from './demo-users.ts';
import { findUserByEmail } from '../../src/accounts/people/users.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import { findKeyHolders } from '../../src/merchants/keys/authenticate.ts';
import { verifySecret, type KeyPair } from '../../src/merchants/keys/credentials.ts';
import { createKeyPair, rotateSecret, type KeyDeps } from '../../src/merchants/keys/keys.ts';
import { findMerchant, requireMerchant } from '../../src/merchants/queries.ts';
import type { OnboardingDeps } from '../../src/onboarding/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';

/** The database may have a demo merchant of another data directory: an address has one user. */
async function freeEmail({ sql }: KeyDeps): Promise<string> {
  const isTaken = (await findUserByEmail(sql, 'demo@example.com')) !== undefined;
  return isTaken ? `demo-${randomBytes(4).toString('hex')}@example.com` : 'demo@example.com';
}

/** What the demo merchant is made with. */
export interface DemoMerchantDeps extends KeyDeps, OnboardingDeps {}

/** A new merchant with the details of its business, approved and with keys for both environments. */
export async function registerMerchant(deps: DemoMerchantDeps): Promise<DemoMerchant> {
  const email = await freeEmail(deps);
  const { merchantId } = await createMerchant(deps, { name: 'Demo Bazaar', email });
  await submitDemoApplication(deps, merchantId);
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
  const [holder] = await findKeyHolders(deps.sql, environment, [known.apiKey]);
  const isValid = holder?.isKnown && verifySecret(deps.pepper, known.apiSecret, holder.secretHmac);
  return isValid ? known : rotateSecret(deps, merchantId, environment);
}

/**
 * The demo merchant of the file, if the database has it. Its API keys stay the same; a secret that a
 * rotation or another pepper has invalidated is replaced.
 */
async function findDemoMerchant(deps: KeyDeps, dataDir: string): Promise<DemoMerchant | undefined> {
  const known = keptMerchant.read(dataDir);
  if (known === undefined) return undefined;
  const { merchantId } = known;
  if (!(await findMerchant(deps.sql, merchantId))) return undefined;
  const sandbox = await withValidSecret(deps, merchantId, 'sandbox', known.sandbox);
  const production = await withValidSecret(deps, merchantId, 'production', known.production);
  return { merchantId, sandbox, production };
}

/** The users of the demo merchant and of two operators, who can log in to the dashboard. */
async function ensureDemoUsers(
  deps: DemoMerchantDeps,
  dataDir: string,
  merchantId: string,
): Promise<DemoUsers> {
  const merchant = await requireMerchant(deps.sql, merchantId);
  const known = keptUsers.read(dataDir);
  const [first, second] = OPERATOR_EMAILS;
  return {
    merchant: await ensureMerchantUser(deps, merchant, known?.merchant),
    operator: await ensureOperator(deps, first, known?.operator),
    secondOperator: await ensureOperator(deps, second, known?.secondOperator),
  };
}

/** See {@link DemoMerchantDeps}. */
export function demoMerchantDeps(sql: Sql, config: DevConfig): DemoMerchantDeps {
  return {
    sql,
    pepper: required(config, 'API_SECRET_PEPPER'),
    dataBox: createSecretBox(required(config, 'DATA_ENCRYPTION_KEYS')),
    actor: { name: 'seed', address: null },
  };
}

/**
 * Creates the demo merchant unless it exists, approved and with keys for both environments, and the demo
 * users of the dashboard. Writes them to `demo-merchant.json` and `demo-users.json` (mode 0600) in the
 * data directory.
 */
export async function ensureDemoMerchant(sql: Sql, config: DevConfig): Promise<void> {
  const deps = demoMerchantDeps(sql, config);
  const merchant = (await findDemoMerchant(deps, config.dataDir)) ?? (await registerMerchant(deps));
  keptMerchant.write(config.dataDir, merchant);
  keptUsers.write(config.dataDir, await ensureDemoUsers(deps, config.dataDir, merchant.merchantId));
}
