import type { Payorders } from '../../typescript/src/index.ts';
import { createClient, faultOfSecret, signBody } from '../../typescript/src/index.ts';
import type { Context } from './command.ts';
import { requireVariable, UsageError } from './command.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What `npm start` listens on. */
const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Where the service is. */
export const baseUrlOf = (env: Env): string => env['PAYORDERS_BASE_URL'] ?? DEFAULT_URL;

/**
 * The client of the variables of the environment. Its requests and waits end when the program is asked to end.
 *
 * @throws UsageError if a key is missing
 * @throws PayordersError for a malformed one
 */
export function clientOf({ env, signal, sleep }: Omit<Context, 'client'>): Payorders {
  const { PAYORDERS_API_KEY: apiKey, PAYORDERS_API_SECRET: apiSecret } = env;
  if (!apiKey || !apiSecret) {
    throw new UsageError('PAYORDERS_API_KEY and PAYORDERS_API_SECRET are missing');
  }
  const environment = apiKey.startsWith('mk_live_') ? 'production' : 'sandbox';
  return createClient({
    environment,
    apiKey,
    apiSecret,
    baseUrl: baseUrlOf(env),
    sleep,
    fetch: (request) => fetch(request, { signal: AbortSignal.any([request.signal, signal]) }),
  });
}

const SECRET = 'PAYORDERS_WEBHOOK_SECRET';

/** The secrets to verify with: several with commas. @throws UsageError, without them, if one is missing or malformed */
export function requireSecrets(context: Context): string[] {
  const secrets = requireVariable(context, SECRET).split(',');
  const fault = secrets.map(faultOfSecret).find((one) => one !== undefined);
  if (fault !== undefined) throw new UsageError(`The variable ${SECRET} ${fault}`);
  return secrets;
}

/** The secret to sign with. @throws UsageError, without it, if it is missing or malformed */
export async function requireSecret(context: Context): Promise<string> {
  const [secret = '', ...others] = requireSecrets(context);
  if (others.length > 0) throw new UsageError(`The variable ${SECRET} must have one secret`);
  if (!secret.startsWith('whsec_')) {
    throw new UsageError(`The variable ${SECRET} does not begin with whsec_`);
  }
  try {
    await signBody('', { event: 'TEST', eventId: '' }, secret);
    return secret;
  } catch {
    throw new UsageError(`The variable ${SECRET} has no base64 behind whsec_`);
  }
}

/** The URL of an endpoint. @throws UsageError, without the URL, if nothing can be sent to it */
export function endpointOf(text: string, name: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new UsageError(`${name} must begin with http:// or https:// and a host`);
  }
  const { username, password } = new URL(text);
  if (username === '' && password === '') return text;
  throw new UsageError(`${name} must not contain a user or password`);
}

/** A text in which no secret is left: neither those of the variables nor any with the prefix of one. */
export function withoutSecrets(text: string, env: Env): string {
  const variables = [env['PAYORDERS_API_SECRET'], ...(env[SECRET] ?? '').split(',')];
  const known = variables.flatMap((one) => one?.trim() || []);
  return known
    .reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text)
    .replaceAll(/(sk_test_|sk_live_|whsec_)[A-Za-z0-9+/=_-]+/g, '$1[hidden]');
}
