import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WholeService } from './whole-service.ts';
import { startWholeService } from './whole-service.ts';

/** A generator of requests that nobody here wrote: https://schemathesis.io */
const SCHEMATHESIS = 'schemathesis==4.32.5';
const EXAMPLES_PER_OPERATION = process.argv[2] ?? '100';

async function run(file: string, args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(file, args, { cwd, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

async function install(folder: string): Promise<string> {
  const venv = join(folder, 'venv');
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', SCHEMATHESIS];
  for (const [file, args] of [
    ['python3', ['-m', 'venv', venv]],
    [join(venv, 'bin/python'), pip],
  ] as const) {
    if ((await run(file, args, folder)) !== 0) throw new Error(`${file} ${args.join(' ')} failed`);
  }
  return join(venv, 'bin/schemathesis');
}

/** The test helpers that bring an order from ACCEPTED to each kind of state. */
const WAYS: readonly (readonly string[])[] = [
  [],
  ['payment-sessions'],
  ['cancel'],
  ['pay'],
  ['pay', 'deliver'],
  ['pay', 'deliver', 'dispute'],
  ['pay', 'dispute', 'evidence'],
  ['pay', 'dispute', 'accept'],
];

const ORDERS_PER_WAY = 5;

async function makeOrder({ sandbox }: WholeService, way: readonly string[]): Promise<string> {
  const order = await sandbox.create();
  const path = `/orders/${order.order_number}`;
  for (const step of way) {
    if (step === 'pay') await sandbox.help(order, 'pay');
    else if (step === 'dispute') await sandbox.help(order, step, { reason: 'It never arrived' });
    else if (step === 'evidence') await sandbox.post(`${path}/dispute/${step}`, { text: 'Signed' });
    else if (step === 'accept') await sandbox.post(`${path}/dispute/${step}`);
    else await sandbox.post(`${path}/${step}`);
  }
  return order.order_number;
}

/** Makes generated requests name orders that exist; then a 400 about their status is right. */
async function writeConfig(file: string, service: WholeService): Promise<void> {
  const orders: string[] = [];
  for (let round = 0; round < ORDERS_PER_WAY; round += 1) {
    orders.push(...(await Promise.all(WAYS.map((way) => makeOrder(service, way)))));
  }
  await writeFile(
    file,
    `[dictionaries.orders]
values = ${JSON.stringify(orders)}

[parameters]
"path.id" = { dictionary = "orders", probability = 0.9 }

[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 401, 403, 404, 408, 429]
`,
  );
}

interface Pass {
  readonly name: string;
  readonly environment: 'sandbox' | 'production';
  /** Options before the command, and after it. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

async function check({ facts }: WholeService, program: string, pass: Pass, cwd: string) {
  const { apiKey, apiSecret } = facts.demoMerchant[pass.environment];
  const basePath = facts[`${pass.environment}BasePath`];
  console.log(`\n== ${pass.name}`);
  const args = ['run', `${facts.apiBaseUrl}/openapi.json`, '--url', facts.apiBaseUrl + basePath];
  const headers = ['-H', `X-API-Key: ${apiKey}`, '-H', `X-API-Secret: ${apiSecret}`];
  const effort = ['--checks', 'all', '--max-examples', EXAMPLES_PER_OPERATION, '--no-color'];
  const all = [...(pass.before ?? []), ...args, ...headers, ...effort, ...(pass.after ?? [])];
  return { name: pass.name, code: await run(program, all, cwd) };
}

/** Runs every check of schemathesis against the service, in both environments. */
async function main(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-schemathesis-'));
  const service = await startWholeService({ RATE_LIMIT_PER_SECOND: '1000000' });
  try {
    const program = await install(folder);
    const config = join(folder, 'orders.toml');
    await writeConfig(config, service);
    const passes: Pass[] = [
      { name: 'sandbox', environment: 'sandbox' },
      {
        name: 'sandbox, orders that exist',
        environment: 'sandbox',
        before: ['--config-file', config],
      },
      {
        name: 'production',
        environment: 'production',
        after: ['--exclude-path-regex', '^/test-helpers/'],
      },
    ];
    const results = [];
    for (const pass of passes) results.push(await check(service, program, pass, folder));
    const failed = results.filter(({ code }) => code !== 0).map(({ name }) => name);
    console.log(failed.length === 0 ? '\nNothing found' : `\nFindings in: ${failed.join('; ')}`);
    return failed.length === 0 ? 0 : 1;
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
