import type { Payorders } from '../../typescript/src/index.ts';
import { createClient } from '../../typescript/src/index.ts';
import { UsageError } from './command.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What `npm start` listens on. */
const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Where the service is. */
export const baseUrlOf = (env: Env): string => env['PAYORDERS_BASE_URL'] ?? DEFAULT_URL;

/** The client of the variables of the environment. @throws UsageError if a key is missing */
export function clientOf(env: Env): Payorders {
  const { PAYORDERS_API_KEY: apiKey, PAYORDERS_API_SECRET: apiSecret } = env;
  if (!apiKey || !apiSecret) {
    throw new UsageError('PAYORDERS_API_KEY and PAYORDERS_API_SECRET are missing');
  }
  const environment = apiKey.startsWith('mk_live_') ? 'production' : 'sandbox';
  return createClient({ environment, apiKey, apiSecret, baseUrl: baseUrlOf(env) });
}
