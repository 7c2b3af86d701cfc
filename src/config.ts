import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';

/** Milliseconds in the units that the settings and the domain speak of. */
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const port = (fallback: number) => z.coerce.number().int().min(1).max(65_535).default(fallback);
const seconds = (fallbackMs: number) =>
  z.coerce
    .number()
    .positive()
    .max(90 * 24 * 3600)
    .default(fallbackMs / SECOND_MS)
    .transform((value) => Math.round(value * SECOND_MS));
const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

const addressRanges = list.pipe(z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])));

/** What each variable accepts: the second half of the line a wrong setting prints. */
const settings = z
  .object({
    NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
    LOG_LEVEL: z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
      .default('info'),
    DATA_DIR: z.string().min(1).default('.data'),
    HOST: z.string().min(1).default('127.0.0.1'),
    PORT: port(8080),
    TEMPORAL_PORT: port(7233),
    TEMPORAL_UI_PORT: port(8233),
    POSTGRES_PORT: port(15_432),
    GATEWAY_SIMULATOR_PORT: port(8090),
    DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
    TEMPORAL_ADDRESS: z
      .string()
      .regex(/^[^\s:/]+:\d{1,5}$/)
      .optional(),
    TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
    PUBLIC_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
    RATE_LIMIT_PER_SECOND: z.coerce.number().int().min(1).max(1_000_000).default(10),
    RATE_LIMIT_STORE: z.enum(['memory', 'postgres']).default('memory'),
    BUYER_RATE_LIMIT_PER_SECOND: z.coerce.number().int().min(1).max(1_000_000).default(50),
    TRUSTED_PROXIES: addressRanges,
    API_SECRET_PEPPER: z.string().min(32).optional(),
    WEBHOOK_SECRET_KEYS: z
      .string()
      .regex(/^[A-Za-z0-9_-]+:[A-Za-z0-9+/]{43}=(,[A-Za-z0-9_-]+:[A-Za-z0-9+/]{43}=)*$/)
      .refine((keys) => {
        const ids = keys.split(',').map((key) => key.split(':')[0]);
        return new Set(ids).size === ids.length;
      })
      .optional(),
    WEBHOOK_ALLOWED_CIDRS: addressRanges,
    WEBHOOK_DENIED_PORTS: list.pipe(
      z.array(
        z
          .string()
          .regex(/^\d{1,5}$/)
          .transform(Number),
      ),
    ),
    PAYMENT_LINK_SECONDS: seconds(24 * HOUR_MS),
    PAYMENT_SESSION_SECONDS: seconds(15 * MINUTE_MS),
    COMPLETION_WINDOW_SECONDS: seconds(24 * HOUR_MS),
    DISPUTE_ANSWER_SECONDS: seconds(72 * HOUR_MS),
    SWEEP_AFTER_SECONDS: seconds(30 * SECOND_MS),
    RECONCILE_SECONDS: seconds(MINUTE_MS),
    GATEWAY_SIMULATOR_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
    GATEWAY_SIMULATOR_CALLBACK_URL: z.url({ protocol: /^https?$/ }).optional(),
    SANDBOX_RAZORPAY_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
    SANDBOX_RAZORPAY_KEY_ID: z.string().min(1).optional(),
    SANDBOX_RAZORPAY_KEY_SECRET: z.string().min(1).optional(),
    SANDBOX_RAZORPAY_WEBHOOK_SECRET: z.string().min(1).optional(),
    PRODUCTION_RAZORPAY_BASE_URL: z.url({ protocol: /^https$/ }).optional(),
    PRODUCTION_RAZORPAY_KEY_ID: z.string().min(1).optional(),
    PRODUCTION_RAZORPAY_KEY_SECRET: z.string().min(1).optional(),
    PRODUCTION_RAZORPAY_WEBHOOK_SECRET: z.string().min(1).optional(),
    TEMPORAL_CLI_PATH: z.string().optional(),
    TEMPORAL_TEST_SERVER_PATH: z.string().optional(),
    XDG_CACHE_HOME: z.string().optional(),
    npm_lifecycle_event: z.string().optional(),
  })
  .superRefine((value, context) => {
    const refuse = (name: string) =>
      context.addIssue({ code: 'custom', path: [name], message: 'refused' });
    // Private addresses opened to webhooks would open them to every merchant.
    if (value.NODE_ENV === 'production' && value.WEBHOOK_ALLOWED_CIDRS.length > 0) {
      refuse('WEBHOOK_ALLOWED_CIDRS');
    }
    for (const gateway of ['SANDBOX_RAZORPAY', 'PRODUCTION_RAZORPAY'] as const) {
      if (value[`${gateway}_BASE_URL`] === undefined) continue;
      for (const part of ['KEY_ID', 'KEY_SECRET', 'WEBHOOK_SECRET'] as const) {
        if (value[`${gateway}_${part}`] === undefined) refuse(`${gateway}_${part}`);
      }
    }
  });

const ACCEPTS: Partial<Record<keyof z.input<typeof settings>, string>> = {
  NODE_ENV: 'development, test or production',
  LOG_LEVEL: 'fatal, error, warn, info, debug, trace or silent',
  DATABASE_URL: 'a postgres:// address',
  TEMPORAL_ADDRESS: 'host:port',
  PUBLIC_BASE_URL: 'an http:// or https:// address',
  RATE_LIMIT_PER_SECOND: 'a whole number from 1',
  RATE_LIMIT_STORE: 'memory or postgres',
  BUYER_RATE_LIMIT_PER_SECOND: 'a whole number from 1',
  API_SECRET_PEPPER: 'at least 32 characters',
  WEBHOOK_SECRET_KEYS:
    'id:base64 of 32 bytes, several with different ids separated by commas, the newest first',
  WEBHOOK_DENIED_PORTS: 'port numbers separated by commas',
  TRUSTED_PROXIES: 'addresses or CIDR ranges separated by commas',
  WEBHOOK_ALLOWED_CIDRS: 'CIDR ranges separated by commas, and none when NODE_ENV is production',
};

/** A setting that cannot be used: its message is the one line to print before exit 1. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

function acceptedBy(name: string): string {
  if (name.endsWith('_PORT') || name === 'PORT') return 'a port number from 1 to 65535';
  if (name.endsWith('_SECONDS')) return 'a positive number of seconds';
  return ACCEPTS[name as keyof typeof ACCEPTS] ?? 'a non-empty text';
}

/** A setting that this part cannot do without. @throws ConfigError */
export function required<Value>(value: Value | undefined, name: string, accepts: string): Value {
  if (value === undefined) throw new ConfigError(`${name} is missing: it accepts ${accepts}`);
  return value;
}

/** A variable set to nothing means "not given", but for the list that an empty value closes. */
function givenIn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => value !== '' || name === 'WEBHOOK_ALLOWED_CIDRS'),
  );
}

function razorpayOf(value: z.output<typeof settings>, environment: 'SANDBOX' | 'PRODUCTION') {
  return {
    baseUrl: value[`${environment}_RAZORPAY_BASE_URL`],
    keyId: value[`${environment}_RAZORPAY_KEY_ID`],
    keySecret: value[`${environment}_RAZORPAY_KEY_SECRET`],
    webhookSecret: value[`${environment}_RAZORPAY_WEBHOOK_SECRET`],
  };
}

/** The XDG specification has relative paths ignored. */
function cacheHomeOf(given: string | undefined): string {
  return given !== undefined && isAbsolute(given) ? given : join(homedir(), '.cache');
}

/** The environment as it is, for the processes that this one starts: most of it is theirs alone. */
export function inheritedEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/**
 * The settings of this process, and for what it is not given those of a running service.
 *
 * @throws ConfigError
 */
export function loadConfigOver(service: NodeJS.ProcessEnv): Config {
  return loadConfig({ ...service, ...givenIn(process.env) });
}

/**
 * Reads every setting once: the only place that knows the environment's names.
 *
 * @throws ConfigError naming the first variable that is wrong and what it accepts.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env) {
  const parsed = settings.safeParse(givenIn(env));
  if (!parsed.success) {
    const name = String(parsed.error.issues[0]?.path[0]);
    throw new ConfigError(`${name} is wrong: it accepts ${acceptedBy(name)}`);
  }
  const value = parsed.data;
  const dataDir = resolve(value.DATA_DIR);
  return {
    nodeEnv: value.NODE_ENV,
    logLevel: value.LOG_LEVEL,
    dataDir,
    devFile: join(dataDir, 'dev.json'),
    host: value.HOST,
    port: value.PORT,
    temporalPort: value.TEMPORAL_PORT,
    temporalUiPort: value.TEMPORAL_UI_PORT,
    postgresPort: value.POSTGRES_PORT,
    gatewaySimulatorPort: value.GATEWAY_SIMULATOR_PORT,
    gatewaySimulatorPublicUrl: value.GATEWAY_SIMULATOR_PUBLIC_URL,
    gatewaySimulatorCallbackUrl:
      value.GATEWAY_SIMULATOR_CALLBACK_URL ??
      `http://127.0.0.1:${value.PORT}/callbacks/razorpay/sandbox`,
    databaseUrl: value.DATABASE_URL,
    temporalAddress: value.TEMPORAL_ADDRESS,
    temporalNamespace: value.TEMPORAL_NAMESPACE,
    publicBaseUrl: (value.PUBLIC_BASE_URL ?? `http://127.0.0.1:${value.PORT}`).replace(/\/+$/, ''),
    rateLimitPerSecond: value.RATE_LIMIT_PER_SECOND,
    rateLimitStore: value.RATE_LIMIT_STORE,
    buyerRateLimitPerSecond: value.BUYER_RATE_LIMIT_PER_SECOND,
    trustedProxies: value.TRUSTED_PROXIES,
    apiSecretPepper: value.API_SECRET_PEPPER,
    webhookSecretKeys: value.WEBHOOK_SECRET_KEYS,
    webhookAllowedCidrs: value.WEBHOOK_ALLOWED_CIDRS,
    webhookAllowedCidrsGiven: env['WEBHOOK_ALLOWED_CIDRS'] !== undefined,
    webhookDeniedPorts: value.WEBHOOK_DENIED_PORTS,
    durations: {
      paymentLinkMs: value.PAYMENT_LINK_SECONDS,
      paymentSessionMs: value.PAYMENT_SESSION_SECONDS,
      completionWindowMs: value.COMPLETION_WINDOW_SECONDS,
      disputeAnswerMs: value.DISPUTE_ANSWER_SECONDS,
      sweepAfterMs: value.SWEEP_AFTER_SECONDS,
      reconcileMs: value.RECONCILE_SECONDS,
    },
    razorpay: {
      sandbox: razorpayOf(value, 'SANDBOX'),
      production: razorpayOf(value, 'PRODUCTION'),
    },
    temporalCliPath: value.TEMPORAL_CLI_PATH,
    temporalTestServerPath: value.TEMPORAL_TEST_SERVER_PATH,
    cacheHome: cacheHomeOf(value.XDG_CACHE_HOME),
    /** Whether npm runs us, and its end should be ours. */
    startedByNpm: value.npm_lifecycle_event !== undefined,
  };
}

export type Config = ReturnType<typeof loadConfig>;
