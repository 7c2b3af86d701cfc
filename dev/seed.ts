import { required } from '../src/config.ts';
import { connectDatabase } from '../src/db/client.ts';
import { runMain } from '../src/main/process/process.ts';
import { loadDevConfig } from './config.ts';
import { ensureDemoMerchant } from './start/demo-merchant.ts';

await runMain(
  {
    name: 'seed',
    does: 'Makes the demo merchant and the demo users in an empty database.',
    load: loadDevConfig,
  },
  async (config) => {
    const url = required(config, 'DATABASE_URL');
    const sql = connectDatabase(url, { maxConnections: 1, name: 'seed' });
    await ensureDemoMerchant(sql, config);
    await sql.end({ timeout: 1 });
  },
);
