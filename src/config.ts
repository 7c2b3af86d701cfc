import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { TASK_QUEUES } from './contracts/ids.ts';
import type { Environment } from './domain/index.ts';
import { WEBHOOK_RETRY_DELAYS_MS } from './domain/webhook-retries.ts';
import type { GatewayAdapter } from './payments/gateway/adapter.ts';
import { GATEWAY_ADAPTERS } from './payments/gateway/adapters.ts';
import { DURATION_SETTINGS, SERVICE_SETTINGS } from './service-settings.ts';
import type { TemporalServer } from './temporal/client.ts';
import { readTemporalSecurity } from './temporal/connection-settings.ts';
import {
  faulty,
  inheritedEnvironment,
  readAllOrNone,
  readSettings,
  setting,
  text,
  valueNameOf,
  webAddress,
  type ValueName,
  type ValuesOf,
  type WholeOf,
} from './settings.ts';

/** What all versions of the workers' code have in common: a namespace has the orders of one service. */
const DEPLOYMENT = 'orders';

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

/** The settings of one environment's gateways; undefined for a gateway without variables. */
type GatewaySettings = {
  [Adapter in (typeof GATEWAY_ADAPTERS)[number] as Adapter['name']]:
    | WholeOf<ReturnType<Adapter['settings']>>
    | undefined;
};

/** The variables of each gateway, with the prefix of their names. */
export const gatewaySettings = (
  environment: Environment,
  adapters: readonly GatewayAdapter[] = GATEWAY_ADAPTERS,
) =>
  adapters.map(({ name, settings }) => ({
    name,
    prefix: `${environment}_${name}_`.toUpperCase(),
    settings: settings(environment),
  }));

function refuseInProduction(values: ValuesOf<typeof SERVICE_SETTINGS>): void {
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

/**
 * Reads every setting once.
 *
 * @param adapters the gateways whose settings are read beside those of the service
 * @throws ConfigError naming the first variable that is wrong or missing and what it accepts.
 */
export function loadConfig(
  env = inheritedEnvironment(),
  adapters: readonly [...typeof GATEWAY_ADAPTERS, ...GatewayAdapter[]] = GATEWAY_ADAPTERS,
) {
  const values = readSettings(SERVICE_SETTINGS, env);
  const { nodeEnv, publicBaseUrl, temporalNamespace, workerTaskQueues: queues } = values;
  const { temporalWorkerBuildId: buildId } = values;
  if (nodeEnv === 'production') refuseInProduction(values);
  const gatewaysIn = (environment: Environment) => {
    const gateways = gatewaySettings(environment, adapters).map(({ name, prefix, settings }) => [
      name,
      readAllOrNone(settings, env, prefix),
    ]);
    return Object.fromEntries(gateways) as GatewaySettings;
  };
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
    gateways: { sandbox: gatewaysIn('sandbox'), production: gatewaysIn('production') },
  };
}

/** Every setting; DATABASE_URL is `databaseUrl`. */
export interface Config extends ReturnType<typeof loadConfig> {}

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
