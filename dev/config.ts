import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { loadConfig } from '../src/config.ts';
import { razorpay } from '../src/payments/razorpay/adapter.ts';
import {
  inheritedEnvironment,
  oneOf,
  overridden,
  port,
  readSettings,
  text,
  webAddress,
} from '../src/settings.ts';

/** Where the sandbox's gateway sends its callbacks, at the API. */
const CALLBACK_PATH = `${razorpay.callback.path}/sandbox`;

/** The variables that only a developer's machine has. */
export const DEV_SETTINGS = {
  DATA_DIR: text('.data', {
    accepts: 'the path of a folder',
    description:
      'where `npm start` keeps everything; two copies run side by side with two of these and other ports',
  }),
  DEMO_ORDERS: oneOf(
    ['on', 'off'],
    'on',
    'whether the first `npm start` gives the demo merchant orders of the last 30 days, where the gateway is simulated',
  ),
  TEMPORAL_PORT: port(7233, 'the Temporal server'),
  TEMPORAL_UI_PORT: port(8233, 'the Temporal Web UI'),
  POSTGRES_PORT: port(15_432, 'PostgreSQL'),
  GATEWAY_SIMULATOR_PORT: port(8090, 'the gateway simulator'),
  MAILBOX_PORT: port(8025, 'the page that shows the mails of the service, unless SMTP_URL is set'),
  MAILBOX_HOST: text('127.0.0.1', {
    accepts: 'a host name or an address of this machine',
    description:
      'where these two listen, wherever the API does: the page shows every mail to its visitors',
  }),
  MAILBOX_SMTP_PORT: port(1025, 'the SMTP server that keeps them, below `DATA_DIR`'),
  GATEWAY_SIMULATOR_PUBLIC_URL: webAddress('where buyers reach the gateway simulator', {
    byDefault: '`http://HOST:GATEWAY_SIMULATOR_PORT`',
  }),
  GATEWAY_SIMULATOR_CALLBACK_URL: webAddress('where the gateway simulator reaches the API', {
    byDefault: `\`http://127.0.0.1:PORT${CALLBACK_PATH}\``,
  }),
  TEMPORAL_CLI_PATH: text(undefined, {
    accepts: 'the path of a program',
    description: "Temporal's command line, whose development server `npm start` and the tests run",
    byDefault: '`temporal` on the `PATH`, or downloaded',
  }),
  TEMPORAL_PROGRAMS_DIR: text(undefined, {
    accepts: 'a folder with temporal-server and temporal-sql-tool in it',
    description:
      "Temporal's own programs for the production-like shape, drills, chaos and benchmarks and, if you want the Web UI, `ui-server`",
    byDefault: 'those on the `PATH`, or downloaded, or built',
  }),
  XDG_CACHE_HOME: text(undefined, {
    accepts: 'the absolute path of a folder',
    description: 'what was downloaded or built is kept below it',
    byDefault: '`~/.cache`',
  }),
  TEMPORAL_TEST_SERVER_PATH: text(undefined, {
    accepts: 'the path of a file',
    description: 'the time-skipping server',
    // Only the tests run it.
    hidden: true,
  }),
  npm_lifecycle_event: text(undefined, {
    accepts: 'what npm sets',
    description: 'the script that npm runs',
    // Only npm sets it.
    hidden: true,
  }),
};

/** The XDG specification requires that relative paths are ignored. */
function cacheHomeOf(given: string | undefined): string {
  return given !== undefined && isAbsolute(given) ? given : join(homedir(), '.cache');
}

/**
 * The settings of the service and those of a developer's machine.
 *
 * @throws ConfigError
 */
export function loadDevConfig(env = inheritedEnvironment()) {
  const config = loadConfig(env);
  const { xdgCacheHome, npmLifecycleEvent, ...own } = readSettings(DEV_SETTINGS, env);
  return {
    ...config,
    ...own,
    dataDir: resolve(own.dataDir),
    gatewaySimulatorCallbackUrl:
      own.gatewaySimulatorCallbackUrl ?? `http://127.0.0.1:${config.port}${CALLBACK_PATH}`,
    cacheHome: cacheHomeOf(xdgCacheHome),
    webhookAllowedCidrsGiven: env['WEBHOOK_ALLOWED_CIDRS'] !== undefined,
    /** Whether npm runs this process, which then ends with npm. */
    startedByNpm: npmLifecycleEvent !== undefined,
  };
}

/** See {@link loadDevConfig}. */
export type DevConfig = ReturnType<typeof loadDevConfig>;

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
