import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { startGuard, type Guard } from '../../dev/processes/guard.ts';
import { freePortSettings } from '../../dev/processes/ports.ts';
import { describeProcess, isRunning } from '../../dev/processes/process-table.ts';
import { createApiClient } from '../support/api-client.ts';
import { runNpm, untilReady, type NpmRun } from '../support/npm-run.ts';
import { serviceTest } from '../support/service-test.ts';

const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-given-servers-'));
const dataDir = join(folder, 'data');
const test = serviceTest({ time: 'real', worker: false });
let guard: Guard;
let run: NpmRun | undefined;

beforeAll(async () => {
  guard = await startGuard([folder]);
});

afterAll(async () => {
  await run?.stop();
  await guard?.release();
  await rm(folder, { recursive: true, force: true });
});

test('with DATABASE_URL and TEMPORAL_ADDRESS, npm start uses those, and Ctrl-C stops the rest', async ({
  service: given,
}) => {
  const { DATABASE_URL, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = given.env;
  const WORKFLOW_BUNDLE = inject('workflowBundlePath');
  const servers = { DATABASE_URL, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, WORKFLOW_BUNDLE };
  run = runNpm(['start'], { ...(await freePortSettings()), ...servers, DATA_DIR: dataDir });
  guard.watch(run.pid, 'SIGTERM');
  const facts = await untilReady(run, dataDir);
  const family = run.family();
  const commands = family.map((pid) => describeProcess(pid)?.commandLine ?? '').join('\n');
  expect(commands).toContain('src/main/worker.ts');
  expect(commands).not.toMatch(/postgres -D|temporal server/);
  expect(facts).toMatchObject({ temporalAddress: TEMPORAL_ADDRESS });
  expect(facts).not.toHaveProperty('temporalUiUrl');

  const { sandbox } = facts.demoMerchant;
  const order = await createApiClient(facts.apiBaseUrl, sandbox, 'sandbox').create();
  const numbers = await given.sql`SELECT order_number FROM orders`;
  expect(numbers).toEqual([{ orderNumber: order.order_number }]);
  const handle = given.temporal.client.workflow.getHandle(order.order_number);
  expect((await handle.describe()).status.name).toBe('RUNNING');

  run.pressCtrlC();
  await run.ended;
  await expect.poll(() => family.filter(isRunning)).toEqual([]);
  expect(run.stdout()).toContain('Stopping (SIGINT)');
  expect(run.errorLines()).toEqual([]);
});

test.for([
  ['api', 'DATABASE_URL is missing: it accepts a postgres:// address'],
  ['demo', 'start it with npm start'],
])(
  'npm run %s alone reports in one line what it is missing, and exits with 1',
  async ([part = '', line]) => {
    const alone = runNpm(['run', part], { DATA_DIR: join(folder, 'nothing') });
    expect(await alone.ended).toEqual([1, null]);
    expect(alone.errorLines()).toEqual([expect.stringContaining(line ?? '')]);
  },
);

test('npm run worker says in one line that Temporal is away, and exit 1', async () => {
  const alone = runNpm(['run', 'worker'], {
    DATABASE_URL: 'postgres://127.0.0.1:1/orders',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    WORKFLOW_BUNDLE: inject('workflowBundlePath'),
    WEBHOOK_SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    DATA_ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  });
  expect(await alone.ended).toEqual([1, null]);
  const line = 'Temporal cannot be reached at 127.0.0.1:1 (TEMPORAL_ADDRESS)';
  expect(alone.errorLines()).toEqual([expect.stringContaining(line)]);
});
