import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { TASK_QUEUES } from './contracts/ids.ts';
import type { Environment } from './domain/index.ts';
import { WEBHOOK_RETRY_DELAYS_MS } from './domain/webhook-retries.ts';
import type { GatewayAdapter } from './payments/gateway/adapter.ts';
import { GATEWAY_ADAPTERS } from './payments/gateway/adapters.ts';
import type { TemporalServer } from './temporal/client.ts';
import { readTemporalSecurity } from './temporal/connection-settings.ts';
import {
  databaseAddress,
  faulty,
  inheritedEnvironment,
  ITEMS,
  list,
  oneOf,
  port,
  ratePerSecond,
  readAllOrNone,
  readSettings,
  seconds,
  setting,
  text,
  valueNameOf,
  webAddress,
  type ValueName,
  type ValuesOf,
  type WholeOf,
} from './settings.ts';

const SPECIFIED_RETRY_DELAYS = WEBHOOK_RETRY_DELAYS_MS.map((ms) => ms / 1000).join(',');

const NAMESPACE = 'the name of a namespace';

/** What all versions of the workers' code have in common: a namespace has the orders of one service. */
const DEPLOYMENT = 'orders';

/** The keys of a secret box: see src/secret-box.ts. */
const encryptionKeys = (description: string) =>
  setting(
    z
      .string()
      .regex(/^[A-Za-z0-9_-]+:[A-Za-z0-9+/]{43}=(,[A-Za-z0-9_-]+:[A-Za-z0-9+/]{43}=)*$/)
      .refine((keys) => {
        const ids = keys.split(',').map((key) => key.split(':')[0]);
        return new Set(ids).size === ids.length;
      }),
    undefined,
    {
      accepts:
        'id:base64 of 32 bytes, several with different ids separated by commas, the newest first',
      description,
      byDefault: 'required; made by `npm start`',
      secret: true,
    },
  );

/** In the format of OTEL_EXPORTER_OTLP_HEADERS in the specification of OpenTelemetry. */
const headers = z
  .string()
  .regex(/^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/)
  .transform((value, check) => {
    try {
      const pairs = value.split(',').map((pair) => pair.split('='));
      return Object.fromEntries(
        pairs.map(([name = '', ...rest]) => [
          name.trim(),
          decodeURIComponent(rest.join('=').trim()),
        ]),
      );
    } catch {
      check.addIssue('The values are not percent-encoded');
      return z.NEVER;
    }
  });

/** The variables of the service, in the order of the table in docs/settings.md. */
export const SERVICE_SETTINGS = {
  NODE_ENV: oneOf(
    ['development', 'test', 'production'],
    'development',
    '`production` refuses what only development and tests may set',
  ),
  LOG_LEVEL: oneOf(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'the least important lines that are logged',
  ),
  HOST: text('127.0.0.1', {
    accepts: 'a host name or an address of this machine',
    description: 'where the API and the metrics listen',
  }),
  PORT: port(8080, 'the API listens here'),
  METRICS_PORT: port(
    undefined,
    "serves this process's metrics to Prometheus at `GET /metrics`, and its health at `/livez` and `/readyz`, on `HOST`. API and worker need one each, so not for `npm start`. Not set: nowhere",
  ),
  DATABASE_URL: databaseAddress(
    'a PostgreSQL of your own: the login of the service',
    'required; set by `npm start`',
  ),
  MIGRATION_DATABASE_URL: databaseAddress(
    'the login that owns the tables and migrates them',
    '`DATABASE_URL`',
  ),
  TEMPORAL_ADDRESS: text(undefined, {
    matches: /^[^\s:/]+:\d{1,5}$/,
    accepts: 'host:port',
    description: 'a Temporal server of your own',
    byDefault: 'required; set by `npm start`',
  }),
  TEMPORAL_NAMESPACE: text('default', {
    accepts: NAMESPACE,
    description: 'where the orders run',
  }),
  TEMPORAL_HOUSEKEEPING_NAMESPACE: text(undefined, {
    accepts: NAMESPACE,
    description: "where the service's own Schedules run",
    byDefault: '`TEMPORAL_NAMESPACE`, followed by `-housekeeping`',
  }),
  WORKER_TASK_QUEUES: list(z.enum(TASK_QUEUES), {
    accepts: `${TASK_QUEUES.join(' or ')}, or both separated by a comma`,
    description:
      'the task queues that a worker process polls: orders with their webhooks, calls that move money, or both',
    byDefault: `\`${TASK_QUEUES.join(',')}\``,
  }),
  WORKER_MAX_CACHED_WORKFLOWS: setting(
    z.coerce.number<string>().int().min(6).max(1_000_000),
    undefined,
    {
      accepts: 'a whole number from 6 to 1000000',
      description:
        "the orders that a worker process keeps in memory, about 0.2 MB each. An order's history is read again when it has been dropped",
      byDefault: 'by the heap limit of Node: 600 for each GiB',
    },
  ),
  WORKFLOW_BUNDLE: text(undefined, {
    accepts: 'the path of a file that `npm run build:workflows` wrote from the same code',
    description:
      'the workflow code of a worker, bundled before it starts. Not set: bundled at each start',
  }),
  TEMPORAL_WORKER_BUILD_ID: text(undefined, {
    matches: /^[\w.-]{1,100}$/,
    accepts: 'up to 100 letters, digits, points, - and _',
    description:
      "in production, the version of a worker's code; it gets tasks once it is current (`npm run -s admin -- worker promote`)",
  }),
  PUBLIC_BASE_URL: webAddress('where buyers and the gateway reach the service', {
    byDefault: '`http://127.0.0.1:PORT`',
  }),
  SECURITY_CONTACT: text(undefined, {
    matches: /^(https:\/\/[^\s/]\S*|mailto:[^\s@]+@[^\s@]+)$/,
    accepts: 'an https:// or mailto: address',
    description:
      'where to report a vulnerability of this installation, for `/.well-known/security.txt`. Not set: there is no such file',
  }),
  SUPPORT_EMAIL: text(undefined, {
    matches: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
    accepts: 'an e-mail address',
    description:
      'where merchants and buyers reach you: error pages and mails name it. Not set: they name none',
    byDefault: 'set by `npm start`',
  }),
  SECURITY_POLICY_URL: webAddress(
    'how reports of vulnerabilities are handled, for the same file: for example the address of a copy of SECURITY.md',
    { secure: true },
  ),
  TEMPORAL_UI_URL: webAddress("Temporal's Web UI, for links to an order's workflow", {
    byDefault: 'set by `npm start`',
  }),
  API_SECRET_PEPPER: setting(z.string().regex(/^[^,]{32,}(,[^,]{32,})*$/), undefined, {
    accepts: 'at least 32 characters, several separated by commas, the newest first',
    description: "keys the hashes of the merchants' API secrets",
    byDefault: 'required; made by `npm start`',
    secret: true,
  }),
  WEBHOOK_SECRET_KEYS: encryptionKeys("encrypt the secrets of the merchants' webhooks"),
  DATA_ENCRYPTION_KEYS: encryptionKeys(
    'encrypt identity documents, bank account numbers, two-factor secrets, mails that wait and kept forms',
  ),
  RATE_LIMIT_PER_SECOND: ratePerSecond(10, 'requests per second of merchants, for each IP address'),
  RATE_LIMIT_STORE: oneOf(
    ['memory', 'postgres'],
    'memory',
    '`postgres` shares one limit of merchants between API processes',
  ),
  BUYER_RATE_LIMIT_PER_SECOND: ratePerSecond(
    50,
    "requests per second of buyers' pages, for each IP address, in each API process",
  ),
  DASHBOARD_RATE_LIMIT_PER_SECOND: ratePerSecond(
    20,
    'requests per second of the dashboard, for each IP address, in each API process',
  ),
  PROPOSAL_ABOVE_PAISE: setting(
    z.coerce.number<string>().int().min(0).max(100_000_000_000),
    500_000,
    {
      accepts: 'a whole number of paise from 0 to 100000000000',
      description:
        "an operator's refund or decision of an order above this amount needs a second operator; a merchant's user who refunds one is asked again for password and second factor",
    },
  ),
  SANDBOX_MAILS: setting(z.enum(['on', 'off']), 'off', {
    accepts: 'on or off, and only off when NODE_ENV is production',
    description:
      "whether orders of the sandbox send mails to buyers and merchants, as production's do. `npm start` sets it to `on` where its own mailbox receives them",
  }),
  TRUSTED_PROXIES: list(ITEMS.addressOrCidr, {
    accepts: 'addresses or CIDR ranges separated by commas',
    description: 'proxies whose `X-Forwarded-For` is trusted',
  }),
  WEBHOOK_ALLOWED_CIDRS: list(ITEMS.cidr, {
    accepts: 'CIDR ranges separated by commas, and none when NODE_ENV is production',
    description: 'private addresses that webhooks may reach in development; refused in production',
  }),
  WEBHOOK_DENIED_PORTS: list(ITEMS.port, {
    accepts: 'port numbers from 1 to 65535 separated by commas',
    description:
      'ports that webhooks must not reach, in addition to those of databases and similar services',
  }),
  WEBHOOK_RETRY_DELAYS_SECONDS: list(ITEMS.duration, {
    length: WEBHOOK_RETRY_DELAYS_MS.length,
    fallback: SPECIFIED_RETRY_DELAYS,
    accepts: `four numbers of seconds separated by commas, and only ${SPECIFIED_RETRY_DELAYS} when NODE_ENV is production`,
    description: 'the waits before attempts 2 to 5 of a webhook',
    // Only tests set it: they cannot wait for hours.
    hidden: true,
  }),
};

/** Where traces go, by the names of OpenTelemetry's specification. */
export const TRACING_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: webAddress(
    'a collector of OpenTelemetry: receives traces at `/v1/traces`, as OTLP over HTTP in JSON. Not set: none are made',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(headers, undefined, {
    accepts: 'name=value, several separated by commas, the values percent-encoded',
    description: 'sent to the collector, such as its API key',
    secret: true,
  }),
  OTEL_TRACES_SAMPLER_ARG: setting(z.coerce.number<string>().min(0).max(1), '1', {
    accepts: 'a number from 0 to 1',
    description:
      'the share of traces that are kept; a request that continues a trace of its client is kept with it',
  }),
};

/** The SMTP server of the worker. Mails wait until there is one. */
export const MAIL_SETTINGS = {
  SMTP_URL: setting(z.url({ protocol: /^smtps?$/, hostname: /./ }), undefined, {
    accepts: 'smtp://user:password@host:port or smtps://…, together with MAIL_FROM',
    description:
      'the server that sends mails. In production smtp:// must upgrade to TLS, unless the URL ends with `?requireTLS=false`. Not set: mails wait up to 24 hours for it',
    byDefault: '`npm start` sets its own, which keeps mails',
    secret: true,
  }),
  MAIL_FROM: text(undefined, {
    matches: /^([^<>\p{Cc}]+ <[^\s@<>,;]+@[^\s@<>,;]+>|[^\s@<>,;]+@[^\s@<>,;]+)$/u,
    accepts: 'an address, or a name and an address in angle brackets, together with SMTP_URL',
    description: 'the sender of mails',
    byDefault: 'set by `npm start`',
  }),
};

const HOUR = 3600;

export const DURATION_SETTINGS = {
  PAYMENT_LINK_SECONDS: seconds(24 * HOUR, 'an order that is not paid by then is cancelled'),
  PAYMENT_SESSION_SECONDS: seconds(900, 'how long a payment session is open'),
  COMPLETION_WINDOW_SECONDS: seconds(
    24 * HOUR,
    'a delivered order without a dispute is completed then',
  ),
  DISPUTE_ANSWER_SECONDS: seconds(72 * HOUR, 'a dispute without an answer is refunded then'),
  SWEEP_AFTER_SECONDS: seconds(
    30,
    'how often the sweep runs, and when it wakes an order whose creation, command or dispute nothing has confirmed; half as often the gateway is asked for payments without a callback',
  ),
  LINKED_ACCOUNT_CHANGE_SECONDS: seconds(
    72 * HOUR,
    'a linked account that replaces another one is active then; what is captured before goes to the old one',
  ),
};

/** The settings of one environment's gateways; undefined for a gateway without variables. */
type GatewaySettings<Adapters extends readonly GatewayAdapter[]> = {
  [Adapter in Adapters[number] as Adapter['name']]:
    | WholeOf<ReturnType<Adapter['settings']>>
    | undefined;
};

/** The variables of each gateway, with the prefix of their names. */
export const gatewaySettings = (environment: Environment) =>
  settingsOf(environment, GATEWAY_ADAPTERS);

const settingsOf = (environment: Environment, adapters: readonly GatewayAdapter[]) =>
  adapters.map(({ name, settings }) => ({
    name,
    prefix: `${environment}_${name}_`.toUpperCase(),
    settings: settings(environment),
  }));

function readGateways<Adapters extends readonly GatewayAdapter[]>(
  environment: Environment,
  env: NodeJS.ProcessEnv,
  adapters: Adapters,
): GatewaySettings<Adapters> {
  const gateways = settingsOf(environment, adapters).map(({ name, prefix, settings }) => [
    name,
    readAllOrNone(settings, env, prefix),
  ]);
  return Object.fromEntries(gateways) as GatewaySettings<Adapters>;
}

type ServiceValues = ValuesOf<typeof SERVICE_SETTINGS>;

function refuseInProduction(values: ServiceValues): void {
  const { webhookAllowedCidrs, webhookRetryDelaysMs, sandboxMails } = values;
  const refuse = (name: keyof typeof SERVICE_SETTINGS) => {
    throw faulty(name, SERVICE_SETTINGS[name], 'wrong');
  };
  // Private addresses opened to webhooks would open them to every merchant.
  if (webhookAllowedCidrs.length > 0) refuse('WEBHOOK_ALLOWED_CIDRS');
  // The addresses of buyers in the sandbox are made up, and belong to strangers.
  if (sandboxMails === 'on') refuse('SANDBOX_MAILS');
  // The API's guide promises merchants these.
  const isSpecified = isDeepStrictEqual(webhookRetryDelaysMs, WEBHOOK_RETRY_DELAYS_MS);
  if (!isSpecified) refuse('WEBHOOK_RETRY_DELAYS_SECONDS');
}

function readConfig<Adapters extends readonly GatewayAdapter[]>(
  env: NodeJS.ProcessEnv,
  adapters: Adapters,
) {
  const values = readSettings(SERVICE_SETTINGS, env);
  const { nodeEnv, publicBaseUrl, temporalNamespace, workerTaskQueues: queues } = values;
  const { temporalWorkerBuildId: buildId } = values;
  if (nodeEnv === 'production') refuseInProduction(values);
  return {
    ...values,
    publicBaseUrl: (publicBaseUrl ?? `http://127.0.0.1:${values.port}`).replace(/\/$/, ''),
    /** The service's own Schedules run here, so that a list of workflows is a list of orders. */
    temporalHousekeepingNamespace:
      values.temporalHousekeepingNamespace ?? `${temporalNamespace}-housekeeping`,
    /** What a worker process serves: every queue, unless production splits them. */
    workerTaskQueues: queues.length > 0 ? queues : TASK_QUEUES,
    /** The version of the code that runs here, where Temporal is to know of versions. */
    workerVersion: buildId === undefined ? undefined : { deploymentName: DEPLOYMENT, buildId },
    temporalSecurity: readTemporalSecurity(env),
    /** Undefined when no SMTP server is configured. */
    mail: readAllOrNone(MAIL_SETTINGS, env),
    tracing: readSettings(TRACING_SETTINGS, env),
    durations: readSettings(DURATION_SETTINGS, env),
    gateways: {
      sandbox: readGateways('sandbox', env, adapters),
      production: readGateways('production', env, adapters),
    },
  };
}

/** Every setting; DATABASE_URL is `databaseUrl`. */
export interface Config extends ReturnType<typeof readConfig<typeof GATEWAY_ADAPTERS>> {}

/**
 * Reads every setting once.
 *
 * @param adapters the gateways whose settings are read beside those of the service
 * @throws ConfigError naming the first variable that is wrong or missing and what it accepts.
 */
export function loadConfig(
  env = inheritedEnvironment(),
  adapters: readonly [...typeof GATEWAY_ADAPTERS, ...GatewayAdapter[]] = GATEWAY_ADAPTERS,
): Config {
  return readConfig(env, adapters);
}

/** The value of a variable that this part cannot do without. @throws ConfigError */
export function required<Name extends keyof typeof SERVICE_SETTINGS>(
  config: Config,
  name: Name,
): NonNullable<Config[ValueName<Name>]> {
  const value = config[valueNameOf(name)];
  if (value === undefined) throw faulty(name, SERVICE_SETTINGS[name], 'missing');
  return value;
}

/** The Temporal server of the settings. @throws ConfigError without TEMPORAL_ADDRESS */
export function temporalServerOf(config: Config): TemporalServer {
  return { address: required(config, 'TEMPORAL_ADDRESS'), ...config.temporalSecurity };
}
