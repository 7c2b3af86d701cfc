import { required } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import { runMain } from '../src/main/process/process.ts';
import { findMerchant } from '../src/merchants/queries.ts';
import { createSecretBox } from '../src/secret-box.ts';
import type { DevConfig } from './config.ts';
import { loadDevConfig } from './config.ts';
import { makeDemoOrders } from './demo-orders/make-demo-orders.ts';
import { finish, unfinished } from './demo-orders/unfinished.ts';
import { localUrl } from './processes/ports.ts';
import { demoMerchantDeps, registerMerchant } from './start/demo-merchant.ts';

/** Makes the demo merchant with its orders in one transaction, or finishes what a killed run has begun. */
async function makeOnce(sql: Sql, config: DevConfig): Promise<void> {
  const { dataDir, publicBaseUrl } = config;
  const begun = unfinished.read(dataDir);
  if (begun && (await findMerchant(sql, begun.merchant.merchantId))) return finish(dataDir, begun);
  await sql`BEGIN`;
  const merchant = await registerMerchant(demoMerchantDeps(sql, config));
  const secretBox = createSecretBox(required(config, 'WEBHOOK_SECRET_KEYS'));
  const { host, gatewaySimulatorPort } = config;
  const gatewayUrl = localUrl(host, gatewaySimulatorPort);
  const past = { sql, secretBox, publicBaseUrl, gatewayUrl };
  const made = { merchant, journalLine: await makeDemoOrders(past, merchant) };
  unfinished.write(dataDir, made);
  await sql`COMMIT`;
  finish(dataDir, made);
}

await runMain(
  {
    name: 'demo-orders',
    does: 'Makes the demo merchant with the orders of a month in an empty database.',
    load: loadDevConfig,
  },
  async (config) => {
    const url = config.migrationDatabaseUrl ?? required(config, 'DATABASE_URL');
    // The transaction needs one connection.
    const sql = connectDatabase(url, { maxConnections: 1, name: 'demo-orders' });
    await makeOnce(sql, config);
    await sql.end({ timeout: 1 });
  },
);
