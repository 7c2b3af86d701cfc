import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { TASK_QUEUES } from './contracts/ids.ts';
import { WEBHOOK_RETRY_DELAYS_MS } from './domain/webhook-retries.ts';

/** Milliseconds in the units that the settings and the domain speak of. */
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const portNumber = z.coerce.number<string>().int().min(1).max(65_535);
const port = (fallback: number) => portNumber.default(fallback);
const numberOfSeconds = z.coerce.number<string>().min(0.001).max(7_776_000);
const millisecondsOf = (value: number) => Math.round(value * SECOND_MS);
const seconds = (fallbackMs: number) =>
  numberOfSeconds.default(fallbackMs / SECOND_MS).transform(millisecondsOf);
const listOr = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    );
const list = listOr('');

const SPECIFIED_RETRY_DELAYS = WEBHOOK_RETRY_DELAYS_MS.map((ms) => ms / SECOND_MS).join(',');

const range = z.union([z.cidrv4(), z.cidrv6()]);
const ratePerSecond = (fallback: number) =>
  z.coerce.number().int().min(1).max(1_000_000).default(fallback);
const webAddress = z.url({ protocol: /^https?$/ }).optional();
const databaseAddress = z.url({ protocol: /^postgres(ql)?$/ }).optional();
const givenText = z.string().min(1).optional();

const GATEWAYS = ['SANDBOX_RAZORPAY', 'PRODUCTION_RAZORPAY'] as const;
const VERSION_PARTS = ['TEMPORAL_DEPLOYMENT_NAME', 'TEMPORAL_WORKER_BUILD_ID'] as const;
const GATEWAY_PARTS = ['BASE_URL', 'KEY_ID', 'KEY_SECRET', 'WEBHOOK_SECRET'] as const;

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
    METRICS_PORT: portNumber.optional(),
    DATABASE_URL: databaseAddress,
    MIGRATION_DATABASE_URL: databaseAddress,
    TEMPORAL_ADDRESS: z
      .string()
      .regex(/^[^\s:/]+:\d{1,5}$/)
      .optional(),
    TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
    TEMPORAL_HOUSEKEEPING_NAMESPACE: givenText,
    WORKER_TASK_QUEUES: list.pipe(z.array(z.enum(TASK_QUEUES))),
    // Temporal joins the two by a colon or a point, of which the name is free.
    TEMPORAL_DEPLOYMENT_NAME: z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .optional(),
    TEMPORAL_WORKER_BUILD_ID: z
      .string()
      .regex(/^[\w.-]{1,100}$/)
      .optional(),
    PUBLIC_BASE_URL: webAddress,
    TEMPORAL_UI_URL: webAddress,
    RATE_LIMIT_PER_SECOND: ratePerSecond(10),
    RATE_LIMIT_STORE: z.enum(['memory', 'postgres']).default('memory'),
    BUYER_RATE_LIMIT_PER_SECOND: ratePerSecond(50),
    TRUSTED_PROXIES: list.pipe(z.array(z.union([z.ipv4(), z.ipv6(), range]))),
    API_SECRET_PEPPER: z.string().min(32).optional(),
    WEBHOOK_SECRET_KEYS: z
      .string()
      .regex(/^[A-Za-z0-9_-]+:[A-Za-z0-9+/]{43}=(,[A-Za-z0-9_-]+:[A-Za-z0-9+/]{43}=)*$/)
      .refine((keys) => {
        const ids = keys.split(',').map((key) => key.split(':')[0]);
        return new Set(ids).size === ids.length;
      })
      .optional(),
    WEBHOOK_ALLOWED_CIDRS: list.pipe(z.array(range)),
    WEBHOOK_DENIED_PORTS: list.pipe(z.array(portNumber)),
    // For tests in which nobody can wait for hours.
    WEBHOOK_RETRY_DELAYS_SECONDS: listOr(SPECIFIED_RETRY_DELAYS).pipe(
      z.array(numberOfSeconds.transform(millisecondsOf)).length(WEBHOOK_RETRY_DELAYS_MS.length),
    ),
    PAYMENT_LINK_SECONDS: seconds(24 * HOUR_MS),
    PAYMENT_SESSION_SECONDS: seconds(15 * MINUTE_MS),
    COMPLETION_WINDOW_SECONDS: seconds(24 * HOUR_MS),
    DISPUTE_ANSWER_SECONDS: seconds(72 * HOUR_MS),
    SWEEP_AFTER_SECONDS: seconds(30 * SECOND_MS),
    RECONCILE_SECONDS: seconds(MINUTE_MS),
    GATEWAY_SIMULATOR_PUBLIC_URL: webAddress,
    GATEWAY_SIMULATOR_CALLBACK_URL: webAddress,
    SANDBOX_RAZORPAY_BASE_URL: webAddress,
    SANDBOX_RAZORPAY_KEY_ID: givenText,
    SANDBOX_RAZORPAY_KEY_SECRET: givenText,
    SANDBOX_RAZORPAY_WEBHOOK_SECRET: givenText,
    PRODUCTION_RAZORPAY_BASE_URL: z.url({ protocol: /^https$/ }).optional(),
    PRODUCTION_RAZORPAY_KEY_ID: givenText,
    PRODUCTION_RAZORPAY_KEY_SECRET: givenText,
    PRODUCTION_RAZORPAY_WEBHOOK_SECRET: givenText,
    TEMPORAL_PROGRAMS_DIR: z.string().optional(),
    TEMPORAL_TEST_SERVER_PATH: z.string().optional(),
    XDG_CACHE_HOME: z.string().optional(),
    npm_lifecycle_event: z.string().optional(),
  })
  .superRefine((value, context) => {
    const refuse = (name: string, message: 'wrong' | 'missing') =>
      context.addIssue({ code: 'custom', path: [name], message });
    // Private addresses opened to webhooks would open them to every merchant.
    if (value.NODE_ENV === 'production' && value.WEBHOOK_ALLOWED_CIDRS.length > 0) {
      refuse('WEBHOOK_ALLOWED_CIDRS', 'wrong');
    }
    // Merchants are promised these.
    const isSpecified = WEBHOOK_RETRY_DELAYS_MS.every(
      (ms, index) => value.WEBHOOK_RETRY_DELAYS_SECONDS[index] === ms,
    );
    if (value.NODE_ENV === 'production' && !isSpecified) {
      refuse('WEBHOOK_RETRY_DELAYS_SECONDS', 'wrong');
    }
    const gatewayNames = (gateway: (typeof GATEWAYS)[number]) =>
      GATEWAY_PARTS.map((part) => `${gateway}_${part}` as const);
    for (const names of [VERSION_PARTS, ...GATEWAYS.map(gatewayNames)]) {
      const missing = names.filter((name) => value[name] === undefined);
      if (missing.length < names.length) missing.forEach((name) => refuse(name, 'missing'));
    }
  });

type Variable = keyof z.input<typeof settings>;
/** Two families of variables that accept the same: a port number, a duration. */
type OfFamily = Exclude<
  Extract<Variable, `${string}PORT` | `${string}_SECONDS`>,
  'WEBHOOK_RETRY_DELAYS_SECONDS'
>;

const RATE = 'a whole number from 1 to 1000000';
const NAMESPACE = 'the name of a namespace';
const DATABASE_ADDRESS = 'a postgres:// address';
const WEB_ADDRESS = 'an http:// or https:// address';
const KEY_ID = 'the id of a key of the gateway';
const KEY_SECRET = 'the secret of that key';
const CALLBACK_SECRET = 'the secret that the gateway signs its callbacks with';
const FILE = 'the path of a file';

/** What each variable accepts: the second half of the line a wrong setting prints. */
const ACCEPTS: Record<Exclude<Variable, OfFamily>, string> = {
  NODE_ENV: 'development, test or production',
  LOG_LEVEL: 'fatal, error, warn, info, debug, trace or silent',
  DATA_DIR: 'the path of a folder',
  HOST: 'a host name or an address of this machine',
  DATABASE_URL: DATABASE_ADDRESS,
  MIGRATION_DATABASE_URL: DATABASE_ADDRESS,
  TEMPORAL_ADDRESS: 'host:port',
  TEMPORAL_NAMESPACE: NAMESPACE,
  TEMPORAL_HOUSEKEEPING_NAMESPACE: NAMESPACE,
  TEMPORAL_DEPLOYMENT_NAME:
    'up to 100 letters, digits, - and _, together with TEMPORAL_WORKER_BUILD_ID',
  TEMPORAL_WORKER_BUILD_ID:
    'up to 100 letters, digits, points, - and _, together with TEMPORAL_DEPLOYMENT_NAME',
  WORKER_TASK_QUEUES: `${TASK_QUEUES.join(' or ')}, or both separated by a comma`,
  PUBLIC_BASE_URL: WEB_ADDRESS,
  TEMPORAL_UI_URL: WEB_ADDRESS,
  RATE_LIMIT_PER_SECOND: RATE,
  RATE_LIMIT_STORE: 'memory or postgres',
  BUYER_RATE_LIMIT_PER_SECOND: RATE,
  TRUSTED_PROXIES: 'addresses or CIDR ranges separated by commas',
  API_SECRET_PEPPER: 'at least 32 characters',
  WEBHOOK_SECRET_KEYS:
    'id:base64 of 32 bytes, several with different ids separated by commas, the newest first',
  WEBHOOK_ALLOWED_CIDRS: 'CIDR ranges separated by commas, and none when NODE_ENV is production',
  WEBHOOK_DENIED_PORTS: 'port numbers from 1 to 65535 separated by commas',
  WEBHOOK_RETRY_DELAYS_SECONDS: `four numbers of seconds separated by commas, and only ${SPECIFIED_RETRY_DELAYS} when NODE_ENV is production`,
  GATEWAY_SIMULATOR_PUBLIC_URL: WEB_ADDRESS,
  GATEWAY_SIMULATOR_CALLBACK_URL: WEB_ADDRESS,
  SANDBOX_RAZORPAY_BASE_URL: WEB_ADDRESS,
  SANDBOX_RAZORPAY_KEY_ID: KEY_ID,
  SANDBOX_RAZORPAY_KEY_SECRET: KEY_SECRET,
  SANDBOX_RAZORPAY_WEBHOOK_SECRET: CALLBACK_SECRET,
  PRODUCTION_RAZORPAY_BASE_URL: 'an https:// address',
  PRODUCTION_RAZORPAY_KEY_ID: KEY_ID,
  PRODUCTION_RAZORPAY_KEY_SECRET: KEY_SECRET,
  PRODUCTION_RAZORPAY_WEBHOOK_SECRET: CALLBACK_SECRET,
  TEMPORAL_PROGRAMS_DIR: 'a folder with temporal-server and temporal-sql-tool in it',
  TEMPORAL_TEST_SERVER_PATH: FILE,
  XDG_CACHE_HOME: 'the absolute path of a folder',
  npm_lifecycle_event: 'what npm sets',
};

/** A setting that cannot be used: its message is the one line to print before exit 1. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

function acceptedBy(name: string): string {
  const own = (ACCEPTS as Partial<Record<string, string>>)[name];
  if (own !== undefined) return own;
  if (name.endsWith('_PORT') || name === 'PORT') return 'a port number from 1 to 65535';
  return 'a number of seconds from 0.001 to 7776000 (90 days)';
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

function workerSettingsOf({
  WORKER_TASK_QUEUES: queues,
  TEMPORAL_DEPLOYMENT_NAME: deploymentName,
  TEMPORAL_WORKER_BUILD_ID: buildId,
}: z.output<typeof settings>) {
  return {
    /** What a worker process serves: every queue, unless production splits them. */
    workerTaskQueues: queues.length > 0 ? queues : TASK_QUEUES,
    /** The version of the code that runs here, where Temporal is to know of versions. */
    workerVersion: deploymentName && buildId ? { deploymentName, buildId } : undefined,
  };
}

function webhookSettingsOf(value: z.output<typeof settings>) {
  return {
    webhookSecretKeys: value.WEBHOOK_SECRET_KEYS,
    webhookAllowedCidrs: value.WEBHOOK_ALLOWED_CIDRS,
    webhookDeniedPorts: value.WEBHOOK_DENIED_PORTS,
    webhookRetryDelaysMs: value.WEBHOOK_RETRY_DELAYS_SECONDS,
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

/** What `env` gives, and for what it does not give the settings of a running service. */
export function environmentOver(
  service: NodeJS.ProcessEnv,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return { ...service, ...givenIn(env) };
}

/**
 * Reads every setting once: the only place that knows the environment's names.
 *
 * @throws ConfigError naming the first variable that is wrong or missing and what it accepts.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env) {
  const parsed = settings.safeParse(givenIn(env));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = String(issue?.path[0]);
    const fault = issue?.message === 'missing' ? 'missing' : 'wrong';
    throw new ConfigError(`${name} is ${fault}: it accepts ${acceptedBy(name)}`);
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
    /** Where this process serves its metrics; undefined: nowhere. */
    metricsPort: value.METRICS_PORT,
    gatewaySimulatorPublicUrl: value.GATEWAY_SIMULATOR_PUBLIC_URL,
    gatewaySimulatorCallbackUrl:
      value.GATEWAY_SIMULATOR_CALLBACK_URL ??
      `http://127.0.0.1:${value.PORT}/callbacks/razorpay/sandbox`,
    databaseUrl: value.DATABASE_URL,
    migrationDatabaseUrl: value.MIGRATION_DATABASE_URL,
    temporalAddress: value.TEMPORAL_ADDRESS,
    temporalNamespace: value.TEMPORAL_NAMESPACE,
    /** Temporal's Web UI, for links to an order's workflow. */
    temporalUiUrl: value.TEMPORAL_UI_URL,
    /** The service's own Schedules run here, so that a list of workflows is a list of orders. */
    temporalHousekeepingNamespace:
      value.TEMPORAL_HOUSEKEEPING_NAMESPACE ?? `${value.TEMPORAL_NAMESPACE}-housekeeping`,
    ...workerSettingsOf(value),
    publicBaseUrl: (value.PUBLIC_BASE_URL ?? `http://127.0.0.1:${value.PORT}`).replace(/\/+$/, ''),
    rateLimitPerSecond: value.RATE_LIMIT_PER_SECOND,
    rateLimitStore: value.RATE_LIMIT_STORE,
    buyerRateLimitPerSecond: value.BUYER_RATE_LIMIT_PER_SECOND,
    trustedProxies: value.TRUSTED_PROXIES,
    apiSecretPepper: value.API_SECRET_PEPPER,
    ...webhookSettingsOf(value),
    webhookAllowedCidrsGiven: env['WEBHOOK_ALLOWED_CIDRS'] !== undefined,
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
    temporalProgramsDir: value.TEMPORAL_PROGRAMS_DIR,
    temporalTestServerPath: value.TEMPORAL_TEST_SERVER_PATH,
    cacheHome: cacheHomeOf(value.XDG_CACHE_HOME),
    /** Whether npm runs us, and its end should be ours. */
    startedByNpm: value.npm_lifecycle_event !== undefined,
  };
}

export type Config = ReturnType<typeof loadConfig>;
