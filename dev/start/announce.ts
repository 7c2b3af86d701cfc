import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { DevConfig } from '../config.ts';
import type { DemoOperator, DevFacts } from '../dev-facts.ts';

const EXAMPLE_ORDER = {
  amount: 499.5,
  buyerEmail: 'asha@example.com',
  buyerPhone: '+919876543210',
  description: 'Blue kurta, size M',
};

/** A curl command in one line, for every shell, that creates an order. */
function curlCommand({ apiBaseUrl, demoMerchant }: DevFacts): string {
  const { apiKey, apiSecret } = demoMerchant.sandbox;
  return [
    `curl -sS -X POST ${apiBaseUrl}${BASE_PATHS.sandbox}/orders`,
    `-H 'X-API-Key: ${apiKey}'`,
    `-H 'X-API-Secret: ${apiSecret}'`,
    `-H 'Content-Type: application/json'`,
    `-d '${JSON.stringify(EXAMPLE_ORDER)}'`,
  ].join(' ');
}

/** The address without its password, because terminal output is recorded and shared. */
function withoutPassword(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl);
  return `${hostname}:${port === '' ? '5432' : port}${pathname} (with its password in dev.json)`;
}

/** The addresses of all parts, the most useful ones for a newcomer first. */
function addresses(facts: DevFacts, { dataDir, webhookAllowedCidrsGiven }: DevConfig) {
  const { apiBaseUrl, temporalAddress, temporalUiUrl, mailboxUrl, environment } = facts;
  const simulator = environment['SANDBOX_RAZORPAY_BASE_URL'];
  const cidrs = environment['WEBHOOK_ALLOWED_CIDRS'] ?? '';
  const reach =
    cidrs === '' ? 'public addresses only' : `public addresses, and of the private ones ${cidrs}`;
  const origin = webhookAllowedCidrsGiven ? '' : ', set by npm start for receivers on this machine';
  return [
    ['API', apiBaseUrl],
    ['API docs', `${apiBaseUrl}/docs`],
    ...(simulator === undefined ? [] : [['UPI gateway', `${simulator} (simulated, sandbox only)`]]),
    ...(mailboxUrl === undefined ? [] : [['Mails', `${mailboxUrl} (of the service, kept here)`]]),
    ...(temporalUiUrl === undefined ? [] : [['Temporal UI', temporalUiUrl]]),
    ['Temporal', temporalAddress],
    ['PostgreSQL', withoutPassword(environment['DATABASE_URL'] ?? '')],
    ['Webhooks go to', `${reach} (WEBHOOK_ALLOWED_CIDRS${origin})`],
    ['Data and logs', `${dataDir}, ${dataDir}/logs`],
  ];
}

export function table(rows: readonly (readonly string[])[]): string {
  const width = Math.max(...rows.map(([name = '']) => name.length));
  return rows
    .map(([name = '', value = '']) => `  ${name.padEnd(width)}  ${value}`.trimEnd())
    .join('\n');
}

/** How to log in to the dashboard as each demo user. */
export function logins({ demoUsers, mailboxUrl }: DevFacts) {
  const { merchant, operator, secondOperator } = demoUsers;
  const rowOf = (name: string, { email, password, totpSecret }: DemoOperator) => {
    const code =
      mailboxUrl === undefined
        ? `six-digit codes: ${totpSecret} in an authenticator`
        : `six-digit code: ${mailboxUrl}`;
    return [name, `${email}    ${password}    ${code}`];
  };
  return [
    ['merchant', `${merchant.email}    ${merchant.password}`],
    rowOf('operator', operator),
    rowOf('second operator', secondOperator),
  ];
}

/** The text that `npm start` prints when the service is ready. */
export function readyText(facts: DevFacts, config: DevConfig, startupMs: number): string {
  const { merchantId, sandbox, production } = facts.demoMerchant;
  return `
Ready after ${(startupMs / 1000).toFixed(1)} s. Ctrl-C stops everything.

${table(addresses(facts, config))}

Log in at ${facts.apiBaseUrl}/dashboard/login

${table(logins(facts))}

Demo merchant ${merchantId}

${table([
  ['sandbox', `X-API-Key: ${sandbox.apiKey}    X-API-Secret: ${sandbox.apiSecret}`],
  ['production', `X-API-Key: ${production.apiKey}    X-API-Secret: ${production.apiSecret}`],
])}

Create an order:

${curlCommand(facts)}
`;
}
