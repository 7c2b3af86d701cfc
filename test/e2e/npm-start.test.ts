import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { portsAfter } from '../../dev/config.ts';
import { freePortSettings } from '../../dev/processes/ports.ts';
import { SCENARIOS } from '../../sdk/cli/src/scenarios.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { sendMail } from '../../src/mail/public.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { createMailWorkflows } from '../../src/temporal/mail-workflows.ts';
import { createApiClient } from '../support/api-client.ts';
import { linesIn } from '../support/log-lines.ts';
import { runNpm } from '../support/npm-run.ts';
import { npmService } from './npm-service.ts';

const npm = npmService();
const { folder, dataDir } = npm;

describe('npm start, once it is ready,', () => {
  test('writes to dev.json, readable only by its owner, where everything is', async () => {
    expect(statSync(join(dataDir, 'dev.json')).mode & 0o777).toBe(0o600);
    const { PORT, PORT_OFFSET } = npm.settings();
    const { temporalPort, temporalUiPort } = portsAfter(Number(PORT_OFFSET));
    const keys = { apiKey: expect.any(String), apiSecret: expect.any(String) };
    expect(npm.facts()).toMatchObject({
      apiBaseUrl: `http://127.0.0.1:${PORT}`,
      sandboxBasePath: '/sandbox/api/merchant/v1',
      productionBasePath: '/api/merchant/v1',
      temporalAddress: `127.0.0.1:${temporalPort}`,
      temporalUiUrl: `http://127.0.0.1:${temporalUiPort}`,
      demoMerchant: { merchantId: expect.any(String), sandbox: keys, production: keys },
    });
    const production = createApiClient(
      npm.facts().apiBaseUrl,
      npm.facts().demoMerchant.production,
      'production',
    );
    expect((await production.get('/orders')).status).toBe(200);
    expect((await fetch(npm.facts().temporalUiUrl ?? '')).status).toBe(200);
  });

  test('prints the addresses, the keys, and a curl line that creates an order unchanged', async () => {
    const printed = npm.service().stdout();
    const { sandbox: ofSandbox, production } = npm.facts().demoMerchant;
    for (const fact of [npm.facts().apiBaseUrl, npm.facts().temporalUiUrl, ofSandbox.apiSecret]) {
      expect(printed).toContain(fact);
    }
    expect(printed).toContain(production.apiSecret);
    const { merchant, operator, secondOperator } = npm.facts().demoUsers;
    expect(secondOperator.email).not.toBe(operator.email);
    for (const fact of [
      `${npm.facts().apiBaseUrl}/dashboard/login`,
      merchant.email,
      merchant.password,
      `${secondOperator.email}    ${secondOperator.password}`,
    ]) {
      expect(printed).toContain(fact);
    }
    expect(printed).toContain(
      `${operator.email}    ${operator.password}    six-digit code: ${npm.facts().mailboxUrl}`,
    );
    const line = printed.split('\n').find((one) => one.startsWith('curl ')) ?? '';
    // curl itself prints the status, without a change to the line.
    writeFileSync(join(folder, '.curlrc'), String.raw`write-out = "\n%{http_code}"`);
    const env = { PATH: process.env['PATH'], CURL_HOME: folder };
    const [body = '', status] = execFileSync('sh', ['-c', line], { env, encoding: 'utf8' }).split(
      '\n',
    );
    expect(status).toBe('201');
    const { data } = JSON.parse(body) as { data: Order };
    const { body: read } = await npm.sandbox().get(`/orders/${data.order_number}`);
    expect(read.data).toMatchObject({ order_number: data.order_number, amount: 499.5 });
  });

  test('lets npm run demo show a complete order with only the same DATA_DIR', async () => {
    const demo = runNpm(['run', 'demo'], { DATA_DIR: dataDir });
    expect(await demo.ended).toEqual([0, null]);
    const webhooks = demo.stdout().matchAll(/webhook \d: (\w+) .*signature verified/g);
    const scenario = SCENARIOS.find(({ id }) => id === 'dispute-resolved');
    expect([...webhooks].map(([, event]) => event)).toEqual(scenario?.webhooks);
  });

  test('writes a log for each part in which every line is JSON', () => {
    const logOf = (part: string) => linesIn(join(dataDir, 'logs', `${part}.log`));
    expect(logOf('seed')).toEqual([]);
    for (const part of ['api', 'worker', 'migrate', 'gateway-simulator']) {
      const lines = logOf(part);
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines) expect(line).toMatchObject({ name: part, msg: expect.any(String) });
    }
    const paying = { msg: 'request', method: 'POST', route: '/upi/:id', status: 303 };
    expect(logOf('gateway-simulator')).toContainEqual(expect.objectContaining(paying));
  });
});

test('a busy port and a wrong setting are reported in one line each, with exit code 1 before anything starts', async () => {
  const elsewhere = { ...(await freePortSettings()), DATA_DIR: join(folder, 'elsewhere') };
  const { PORT = '' } = npm.settings();
  const portInUse = runNpm(['start'], { ...elsewhere, PORT });
  const wrong = runNpm(['start'], { ...elsewhere, COMPLETION_WINDOW_SECONDS: 'a day' });
  expect(await Promise.all([portInUse.ended, wrong.ended])).toEqual([
    [1, null],
    [1, null],
  ]);
  expect(portInUse.errorLines()).toEqual([
    `Port ${PORT} is already in use: stop what uses it, or set PORT to another number`,
  ]);
  expect(wrong.errorLines()).toEqual([
    'COMPLETION_WINDOW_SECONDS is wrong: it accepts a number of seconds from 0.001 to 7776000 (90 days)',
  ]);
  expect(existsSync(join(elsewhere.DATA_DIR, 'postgres'))).toBe(false);
});

test('a list of workflows is a list of orders: housekeeping has a separate namespace', async () => {
  const connection = await Connection.connect({ address: npm.facts().temporalAddress });
  const typesIn = async (namespace: string) => {
    const client = new Client({ connection, namespace });
    const types = new Set<string>();
    for await (const { type } of client.workflow.list()) types.add(type);
    return [...types];
  };
  const housekeeping = () => typesIn('default-housekeeping');
  await expect.poll(housekeeping).toContain('sweep');
  expect(await typesIn('default')).toEqual(['order']);
  await connection.close();
});

test('the mails of the service are kept in DATA_DIR, and a page shows them', async () => {
  const { environment, mailboxUrl = '', temporalAddress } = npm.facts();
  const { mailboxPort } = portsAfter(Number(npm.settings()['PORT_OFFSET']));
  expect(mailboxUrl).toBe(`http://127.0.0.1:${mailboxPort}`);
  expect(npm.service().stdout()).toContain(mailboxUrl);
  const sql = connectDatabase(environment['DATABASE_URL'] ?? '');
  const connection = await Connection.connect({ address: temporalAddress });
  const mailBox = createSecretBox(environment['DATA_ENCRYPTION_KEYS'] ?? '');
  const mails = createMailWorkflows(new Client({ connection, namespace: 'default' }));
  const text = `Confirm your address: ${npm.facts().apiBaseUrl}/docs`;
  await sendMail(
    { sql, mailBox, mails },
    { to: 'asha@example.com', subject: 'Welcome', paragraphs: [text] },
  );
  const page = async (path: string) => (await fetch(`${mailboxUrl}${path}`)).text();
  await expect.poll(() => page('/')).toContain('Welcome');
  const [, path = ''] = /href="(\/mails\/[^"]+)"[^>]*>Welcome</.exec(await page('/')) ?? [];
  expect(await page(path)).toContain(`<a href="${npm.facts().apiBaseUrl}/docs"`);
  expect(await page('/')).toMatch(/Sign-in codes.*>\d{3} \d{3}</s);
  const [started, ...received] = linesIn(join(dataDir, 'logs', 'mailbox.log'));
  expect(started).toMatchObject({ name: 'mailbox', msg: 'The mailbox receives mails' });
  // Those of the orders of other tests are among them.
  expect(received).toContainEqual(expect.objectContaining({ msg: 'A mail was received' }));
  expect(readdirSync(join(dataDir, 'mails'))).toContain(`${path.replace('/mails/', '')}.eml`);
  await sql.end();
  await connection.close();
});

test('a data directory of the time before the development server is refused in one line, and is left as it is', async () => {
  const DATA_DIR = mkdtempSync(join(folder, 'older-'));
  mkdirSync(join(DATA_DIR, 'temporal'));
  writeFileSync(join(DATA_DIR, 'temporal', 'server.yaml'), '{}');
  const run = runNpm(['start'], { ...(await freePortSettings()), DATA_DIR });
  expect(await run.ended).toEqual([1, null]);
  expect(run.errorLines()).toEqual([
    `DATA_DIR ${DATA_DIR} keeps Temporal's data in PostgreSQL, as earlier versions did: remove it, or set DATA_DIR to another folder`,
  ]);
  expect(readdirSync(join(DATA_DIR, 'temporal'))).toEqual(['server.yaml']);
});

test.each(['demo-merchant.json', 'demo-users.json', 'secrets.json', 'npm-start.lock'])(
  'a damaged %s is reported in one line that names it, with exit code 1 before anything starts',
  async (name) => {
    const DATA_DIR = mkdtempSync(join(folder, 'damaged-'));
    writeFileSync(join(DATA_DIR, name), '{"merchantId": "mer_01');
    const run = runNpm(['start'], { ...(await freePortSettings()), DATA_DIR });
    expect(await run.ended).toEqual([1, null]);
    expect(run.errorLines()).toEqual([expect.stringContaining(join(DATA_DIR, name))]);
    expect(existsSync(join(DATA_DIR, 'postgres'))).toBe(false);
  },
);
