import { z } from 'zod';
import { TASK_QUEUES } from './contracts/ids.ts';
import { WEBHOOK_RETRY_DELAYS_MS } from './domain/webhook-retries.ts';
import {
  databaseAddress,
  ITEMS,
  list,
  oneOf,
  port,
  ratePerSecond,
  seconds,
  setting,
  text,
  webAddress,
} from './settings.ts';

const SPECIFIED_RETRY_DELAYS = WEBHOOK_RETRY_DELAYS_MS.map((ms) => ms / 1000).join(',');

const NAMESPACE = 'the name of a namespace';

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
