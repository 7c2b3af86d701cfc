import { resolve } from 'node:path';
import { z } from 'zod';
import { loadConfig } from '../src/config.ts';
import { razorpay } from '../src/payments/razorpay/adapter.ts';
import {
  fileVariable,
  inheritedEnvironment,
  oneOf,
  readSettings,
  setting,
  text,
  webAddress,
} from '../src/settings.ts';

/** Where the sandbox's gateway sends its callbacks, at the API. */
const CALLBACK_PATH = `${razorpay.callback.path}/sandbox`;

/** What runs beside the service on a developer's machine, and its port there. */
const PORTS = {
  temporalPort: 7233,
  temporalUiPort: 8233,
  postgresPort: 15_432,
  gatewaySimulatorPort: 8090,
  /** The page that shows the mails of the service. */
  mailboxPort: 8025,
  /** The SMTP server that keeps them. */
  mailboxSmtpPort: 1025,
};

/** The ports of {@link PORTS} with PORT_OFFSET. */
export function portsAfter(offset: number): typeof PORTS {
  const moved = Object.entries(PORTS).map(([name, port]) => [name, port + offset]);
  return Object.fromEntries(moved) as typeof PORTS;
}

/** The variables that only a developer's machine has. */
export const DEV_SETTINGS = {
  DATA_DIR: text('.data', {
    accepts: 'the path of a folder',
    description:
      'where `npm start` keeps everything; two copies run side by side with two of these and another PORT and PORT_OFFSET',
  }),
  DEMO_ORDERS: oneOf(
    ['on', 'off'],
    'on',
    'whether the first `npm start` gives the demo merchant orders of the last 30 days, where the gateway is simulated',
  ),
  PORT_OFFSET: setting(z.coerce.number<string>().int().min(0).max(50_000), 0, {
    accepts: 'a whole number from 0 to 50000',
    description:
      'added to the ports of what runs beside the service: Temporal 7233, its Web UI 8233, PostgreSQL 15432, the gateway simulator 8090, the page of the mails 8025 and the SMTP server that keeps them 1025. The last two are there unless SMTP_URL is set',
  }),
  GATEWAY_SIMULATOR_CALLBACK_URL: webAddress('where the gateway simulator reaches the API', {
    byDefault: `\`http://127.0.0.1:PORT${CALLBACK_PATH}\``,
  }),
  npm_lifecycle_event: text(undefined, {
    accepts: 'what npm sets',
    description: 'the script that npm runs',
    // Only npm sets it.
    hidden: true,
  }),
};

/**
 * The settings of the service and those of a developer's machine.
 *
 * @throws ConfigError
 */
export function loadDevConfig(env = inheritedEnvironment()) {
  const config = loadConfig(env);
  const { portOffset, npmLifecycleEvent, ...own } = readSettings(DEV_SETTINGS, env);
  return {
    ...config,
    ...own,
    portOffset,
    ...portsAfter(portOffset),
    dataDir: resolve(own.dataDir),
    gatewaySimulatorCallbackUrl:
      own.gatewaySimulatorCallbackUrl ?? `http://127.0.0.1:${config.port}${CALLBACK_PATH}`,
    webhookAllowedCidrsGiven: env['WEBHOOK_ALLOWED_CIDRS'] !== undefined,
    /** Whether npm runs this process, which then ends with npm. */
    startedByNpm: npmLifecycleEvent !== undefined,
  };
}

/** See {@link loadDevConfig}. */
export type DevConfig = ReturnType<typeof loadDevConfig>;

/**
 * An environment with other values for some variables. A secret that `env` gives in the other way, by
 * its value or by a file, is removed.
 */
export function overridden(env: NodeJS.ProcessEnv, values: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const inTheOtherWay = (name: string) =>
    name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : fileVariable(name);
  const replaced = new Set(Object.keys(values).map(inTheOtherWay));
  const kept = Object.entries(env).filter(([name]) => !replaced.has(name));
  return { ...Object.fromEntries(kept), ...values };
}

/**
 * The settings of a running service, overridden by the non-empty variables of `env`. An empty
 * WEBHOOK_ALLOWED_CIDRS also counts, because it allows no range.
 */
export function environmentOver(
  service: NodeJS.ProcessEnv,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const given = Object.entries(env).filter(
    ([name, value]) => value !== '' || name === 'WEBHOOK_ALLOWED_CIDRS',
  );
  return overridden(service, Object.fromEntries(given));
}
