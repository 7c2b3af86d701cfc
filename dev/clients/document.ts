import { pino } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { startHttpServer } from '../../src/http/server/server.ts';
import { composeApi } from '../../src/main/compose/compose.ts';
import { connectTemporal } from '../../src/temporal/client.ts';

/** Nothing listens there: the document needs neither the database nor Temporal. */
const NOWHERE = '127.0.0.1:9';

/** No secret is sealed with it. */
const KEYS = `none:${Buffer.alloc(32).toString('base64')}`;

const SETTINGS = {
  PUBLIC_BASE_URL: 'http://127.0.0.1:3000',
  API_SECRET_PEPPER: 'a pepper that no secret is hashed with',
  WEBHOOK_SECRET_KEYS: KEYS,
  DATA_ENCRYPTION_KEYS: KEYS,
};

/**
 * The OpenAPI document of this checkout, as `/openapi.json` serves it. The routes are composed with
 * connections that are never opened.
 *
 * @throws Error if it is not served
 */
export async function documentOfThisTree(): Promise<string> {
  const log = pino({ level: 'error' });
  const sql = connectDatabase(`postgres://user:password@${NOWHERE}/none`);
  const temporal = connectTemporal({ address: NOWHERE, namespace: 'none' });
  const { app, readiness } = await composeApi({ config: loadConfig(SETTINGS), sql, temporal, log });
  const server = await startHttpServer(app, { host: '127.0.0.1', port: 0, readiness, log });
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/openapi.json`);
    if (!response.ok) throw new Error(`/openapi.json answers ${response.status}`);
    return await response.text();
  } finally {
    await server.stop();
    await sql.end({ timeout: 1 });
  }
}
