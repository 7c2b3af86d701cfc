import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import { CHANGES_AT_ONCE } from '../../src/http/limits/turns.ts';
import { inParallel } from '../support/in-parallel.ts';
import type { Merchant } from '../support/merchant.ts';
import { startOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { deliveriesOf } from '../webhooks/deliveries.ts';

/** Where the code of an order's workflow begins in a bundle. */
const BEGINNING = 'async function orderWorkflow(input) {';
/** The code of an order of this amount does not end. */
const ENDLESS_PAISE = 66_600;
/** Why a workflow task failed whose code did not end. */
const CUT_OFF = 'Script execution timed out after 1000ms';
/** Each is created, paid and delivered: three webhooks. */
const ORDERS = 34;
/** As many as an API works on for one merchant: more would wait for their turn, and get a 429 on a busy machine. */
const AT_THE_SAME_TIME = CHANGES_AT_ONCE / 2;

const test = serviceTest({ time: 'real', worker: false, callbacks: false });

const readPrebuilt = () =>
  JSON.parse(readFileSync(inject('workflowBundlePath'), 'utf8')) as { code: string };

async function startWorkerWith(service: TestService, code: string) {
  const file = join(temporaryFolder(), 'workflows.json');
  const bundle = readPrebuilt();
  expect(bundle.code).toContain(BEGINNING);
  const changed = bundle.code.replace(BEGINNING, `${BEGINNING} ${code}`);
  writeFileSync(file, JSON.stringify({ ...bundle, code: changed }));
  const worker = await startWorkerProcess(service, { settings: { WORKFLOW_BUNDLE: file } });
  onTestFinished(() => worker.kill());
}

async function failuresOf({ handle }: Awaited<ReturnType<typeof startOrder>>) {
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap(
    ({ workflowTaskFailedEventAttributes: failed }) => failed?.failure?.message ?? [],
  );
}

test('src/main/worker/workflow-execution.ts is written for this version of the SDK', () => {
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as {
    version: string;
  };
  expect(version).toBe('1.24.0');
});

test('workflow code that does not end is cut off; no command and no webhook beside it fails', async ({
  service,
  merchant,
}) => {
  await startWorkerWith(service, `if (input.amountPaise === ${ENDLESS_PAISE}) for (;;);`);
  const { merchantId, sandbox } = merchant;
  const endless = await startOrder(service, { merchantId, amountPaise: ENDLESS_PAISE });
  const numbers: string[] = [];
  await inParallel(Array.from({ length: ORDERS }), AT_THE_SAME_TIME, async () => {
    const order = await sandbox.create();
    numbers.push(order.order_number);
    expect((await sandbox.help(order, 'pay')).status).toBe(200);
    expect((await sandbox.command(order, 'deliver')).status).toBe(200);
  });
  await until(async () => (await failuresOf(endless)).length > 0);
  expect(await failuresOf(endless)).toContain(CUT_OFF);
  for (const number of numbers) {
    const sent = await until(async () => {
      const deliveries = await deliveriesOf(service, number);
      return deliveries.length === 3 && deliveries.every(({ state }) => state === 'DELIVERED')
        ? deliveries
        : undefined;
    });
    expect(sent?.map(({ attempts }) => attempts.length)).toEqual([1, 1, 1]);
  }
});

test('an order sees nothing of another in the global object, and changes no module', async ({
  service,
  merchant,
}) => {
  const { code } = readPrebuilt();
  const [names] = /_messages_ts__WEBPACK_IMPORTED_MODULE_\d+__\.MESSAGE_NAMES/.exec(code) ?? [];
  await startWorkerWith(
    service,
    `if (globalThis.otherOrder) throw new Error('The state of another order');
     globalThis.otherOrder = input.orderNumber;
     if (!Object.isFrozen(${names})) throw new Error('A module can be changed');`,
  );
  const first = await startOrder(service, merchant);
  await first.untilStep('ORDER_CREATED');
  const second = await startOrder(service, merchant);
  await second.untilStep('ORDER_CREATED');
  await first.pay();
  const failures = [...(await failuresOf(first)), ...(await failuresOf(second))];
  // A worker that gets no processor time for a second cuts off code that would end.
  expect(failures.filter((message) => message !== CUT_OFF)).toEqual([]);
});

test('without call stacks, it says so', async ({ service, merchant }) => {
  const worker = await startWorkerProcess(service);
  onTestFinished(() => worker.kill());
  const { stack } = await startedOrder(service, merchant);
  await expect(stack()).rejects.toThrow('Workflow stack traces are not enabled on this worker');
});

async function startedOrder(service: TestService, { merchantId }: Merchant) {
  const { handle } = await startOrder(service, { merchantId });
  return { stack: () => handle.query<string>('__stack_trace') };
}
