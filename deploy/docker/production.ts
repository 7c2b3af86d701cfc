import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Canaries } from '../../dev/canaries/canary.ts';
import { demoMerchantSchema } from '../../dev/dev-facts.ts';
import { checkFrozen, checkLogs, type Check } from './checks.ts';
import { docker, openProject, REPOSITORY, run, type Project } from './engine.ts';
import { orderWithCanaries, secretsOf, UP } from './sandbox.ts';
import { call, startTraffic, type Merchant } from './traffic.ts';

const IMAGE = 'merchant-payment-order-service';
const PORT = 18_080;
const VERSIONS = ['check-1', 'check-2'] as const;

/** A port of this machine instead of 80 and 443, and a merchant, whom production has none of. */
const OVERRIDE = `
services:
  proxy:
    ports: !override ['127.0.0.1:${PORT}:80', '127.0.0.1:8233:8233']
  merchant:
    image: ${IMAGE}-sandbox:local
    profiles: [merchant]
    command: [sh, -ec, node dev/seed.ts >&2; cat /tmp/demo-merchant.json]
    read_only: true
    tmpfs: /tmp
    environment:
      NODE_ENV: development
      DATA_DIR: /tmp
      DATABASE_URL_FILE: /run/secrets/database_url
      API_SECRET_PEPPER_FILE: /run/secrets/api_secret_pepper
      WEBHOOK_SECRET_KEYS_FILE: /run/secrets/webhook_secret_keys
      DATA_ENCRYPTION_KEYS_FILE: /run/secrets/data_encryption_keys
    volumes: [service-secrets:/run/secrets:ro]
    networks: [data]
`;

/** The files of production, as an operator gives them to Compose. */
const COMPOSE_FILE = 'docker-compose.yml:deploy/production.yml';
/** What Compose makes of its files, the services of all profiles included. */
const CONFIG = ['--profile', '*', 'config', '--format', 'json'];
/** What production must decide. */
export const REQUIRED = [
  'SERVICE_VERSION',
  'PUBLIC_BASE_URL',
  'SITE_ADDRESS',
  'MAIL_FROM',
  'PRODUCTION_RAZORPAY_KEY_ID',
  'SECRETS_DIR',
];
export const SANDBOX_ONLY = ['gateway-simulator', 'mailbox', 'seed'];

/** What the operator writes into the empty files. */
const OWN_SECRETS = {
  smtp_url: 'smtp://smtp.example.com:25',
  production_razorpay_key_secret: 'a-key-secret-of-the-operator',
  production_razorpay_webhook_secret: 'a-webhook-secret-of-the-operator',
  sandbox_razorpay_key_secret: 'a-sandbox-key-secret-of-the-operator',
  sandbox_razorpay_webhook_secret: 'a-sandbox-webhook-secret-of-the-operator',
};

const settingsFile = (folder: string) => join(folder, 'deploy/settings.env');

/** The secrets belong to root, so a container writes and deletes them. */
const asRoot = (secretsDir: string, script: string) =>
  docker(
    'run',
    '--rm',
    '-v',
    `${secretsDir}:/secrets`,
    '--entrypoint',
    'sh',
    'postgres:18.6',
    '-ec',
    script,
  );

/** The commands of a section of deployment.md. */
function commandsOf(section: string): string[] {
  const text = readFileSync(join(REPOSITORY, 'docs/deployment.md'), 'utf8');
  const [, code = ''] = text.split(`### ${section}\n`)[1]?.split(/^```(?:sh)?\n/m) ?? [];
  return code
    .split('\n')
    .map((line) => line.split('  #')[0] ?? '')
    .filter(Boolean);
}

async function upgrade({ folder, env }: Project, merchant: Merchant): Promise<string> {
  const traffic = startTraffic(merchant);
  const commands = commandsOf('An upgrade');
  ok(commands.length > 3, 'deployment.md has the commands of an upgrade');
  const failed: string[] = [];
  for (const command of commands) {
    const { code, output } = await run(folder, ['sh', '-ec', command], {
      ...env,
      SERVICE_VERSION: VERSIONS[1],
    });
    if (code !== 0) failed.push(`${command}: ${output.slice(-2000)}`);
  }
  const answers = await traffic.stop();
  equal(failed.join('\n'), '');
  const total = [...answers.values()].reduce((sum, count) => sum + count, 0);
  const refused = [...answers].filter(([status]) => !status.startsWith('2'));
  equal(
    refused.length,
    0,
    `of ${total} requests: ${refused.map((one) => one.join(' x ')).join(', ')}`,
  );
  ok(total > 100, `only ${total} requests`);
  return `0 of ${total} requests at 5 a second were not 2xx`;
}

/** Requests that no API answers, with the secrets of a merchant and a buyer. */
async function provokeProxyErrors(project: Project, merchant: Merchant, link: string) {
  await project.mustCompose('stop', 'api', 'api-b');
  const { status } = await call(merchant, '?size=5');
  ok(status >= 500, `without an API the proxy answers ${status}`);
  await fetch(
    `http://127.0.0.1:${PORT}${new URL(link).pathname}?token=${merchant.keys.apiSecret}`,
    {
      headers: { Authorization: `Bearer ${merchant.keys.apiSecret}` },
    },
  );
  await project.mustCompose('start', 'api', 'api-b');
  await project.mustCompose(...UP);
}

/** An operator's password goes through the proxy, which must keep it from the logs of the Web UI and Temporal. */
async function openWebUi(project: Project, canaries: Canaries): Promise<void> {
  const read = ['exec', '-T', 'proxy', 'cat', '/run/secrets/temporal_ui_password'];
  const password = (await project.mustCompose(...read)).stdout.trim();
  canaries.add('password of the Web UI', password);
  const credentials = Buffer.from(`operator:${password}`).toString('base64');
  for (const Authorization of ['Basic b3BlcmF0b3I6eA==', `Basic ${credentials}`])
    await fetch('http://127.0.0.1:8233/namespaces', { headers: { Authorization } });
}

interface Service {
  readonly ports?: readonly { readonly host_ip?: string; readonly published: string }[];
}

/** Production leaves out the sandbox, publishes the proxy alone, and has no default for what it must decide. */
async function checkFiles({ folder, env }: Project): Promise<string> {
  const config = (more: Record<string, string>) =>
    openProject(folder, { ...env, ...more }).compose(...CONFIG);
  const read = async (file: string) => {
    const { code, stdout, output } = await config({ COMPOSE_FILE: file });
    equal(code, 0, output);
    return (JSON.parse(stdout) as { services: Record<string, Service> }).services;
  };
  const production = await read(COMPOSE_FILE);
  const published = Object.values(production).flatMap(({ ports = [] }) =>
    ports.map((port) => `${port.host_ip ?? '0.0.0.0'}:${port.published}`),
  );
  deepEqual(published.toSorted(), ['0.0.0.0:443', '0.0.0.0:80', '127.0.0.1:8233']);
  const sandbox = Object.keys(await read('docker-compose.yml'));
  const expected = [...sandbox, 'proxy', 'api-b', 'worker-b'].filter(
    (name) => !SANDBOX_ONLY.includes(name),
  );
  deepEqual(Object.keys(production).toSorted(), expected.toSorted());
  for (const name of REQUIRED) {
    const { output } = await config({ COMPOSE_FILE, [name]: '' });
    match(output, new RegExp(`required variable ${name} is missing a value`));
  }
  return `${expected.length} services, and no default for ${REQUIRED.length} variables`;
}

async function checkRefusal(project: Project, settings: string, named: RegExp): Promise<string> {
  writeFileSync(settingsFile(project.folder), settings);
  const { code, output } = await project.compose(...UP);
  notEqual(code, 0, 'up --wait must fail');
  const { stdout } = await project.mustCompose('logs', '--no-log-prefix', 'settings');
  match(stdout, named);
  writeFileSync(settingsFile(project.folder), '');
  return output.trim().split('\n').at(-1) ?? '';
}

async function startWithMerchant(project: Project): Promise<Merchant> {
  await project.mustCompose(...UP);
  const { stdout } = await project.mustCompose('run', '--rm', '-T', '--no-deps', 'merchant');
  const { sandbox } = demoMerchantSchema.parse(JSON.parse(stdout));
  return { ordersUrl: `http://127.0.0.1:${PORT}/sandbox/api/merchant/v1/orders`, keys: sandbox };
}

/** Each line of this part of the check is about deploy/production.yml. */
export async function checkProduction(folder: string, check: Check): Promise<void> {
  const secretsDir = join(folder, 'secrets');
  const override = join(folder, 'check.yml');
  mkdirSync(secretsDir);
  writeFileSync(override, OVERRIDE);
  writeFileSync(settingsFile(folder), '');
  for (const version of VERSIONS) await docker('tag', `${IMAGE}:local`, `${IMAGE}:${version}`);
  const project = openProject(folder, {
    COMPOSE_PROJECT_NAME: 'merchant-orders-check-production',
    COMPOSE_FILE: `${COMPOSE_FILE}:${override}`,
    SERVICE_VERSION: VERSIONS[0],
    PUBLIC_BASE_URL: `http://127.0.0.1:${PORT}`,
    SITE_ADDRESS: 'http://127.0.0.1',
    MAIL_FROM: 'Payments <no-reply@example.com>',
    PRODUCTION_RAZORPAY_KEY_ID: 'rzp_live_key',
    SANDBOX_RAZORPAY_KEY_ID: 'rzp_test_key',
    SECRETS_DIR: secretsDir,
  });
  try {
    await check('files of production', () => checkFiles(project));
    await project.mustCompose('run', '--rm', 'secrets');
    await check('no secrets of the operator', () =>
      checkRefusal(project, '', /^SMTP_URL|RAZORPAY/m),
    );
    const secrets = Object.entries(OWN_SECRETS);
    const write = secrets.map(([name, value]) => `echo ${value} > /secrets/service/${name}`);
    await asRoot(secretsDir, write.join('; '));
    await check('a setting that production refuses', () =>
      checkRefusal(project, 'WEBHOOK_ALLOWED_CIDRS=10.0.0.0/8\n', /^WEBHOOK_ALLOWED_CIDRS/m),
    );
    const merchant = await startWithMerchant(project);
    const canaries = await secretsOf(project, 'api', merchant);
    const order = await orderWithCanaries(merchant, canaries);
    await openWebUi(project, canaries);
    await check('upgrade', () => upgrade(project, merchant));
    const upgraded = { ...project.env, SERVICE_VERSION: VERSIONS[1] };
    const after = openProject(folder, upgraded);
    await provokeProxyErrors(after, merchant, order.payment_url);
    await check('logs of production', () => checkLogs(after, canaries, { control: '"status":50' }));
    await check('health of the proxy', () => checkFrozen(after, 'proxy'));
  } finally {
    await project.compose('--profile', '*', 'down', '--volumes', '--timeout', '5');
    await asRoot(secretsDir, 'rm -rf /secrets/*');
    await docker('image', 'rm', ...VERSIONS.map((version) => `${IMAGE}:${version}`));
    rmSync(override);
  }
}
