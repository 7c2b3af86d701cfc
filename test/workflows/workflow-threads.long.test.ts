import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import type { Merchant } from '../support/merchant.ts';
import { startOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

/** Where the code of an order's workflow begins in a bundle. */
const BEGINNING = 'async function orderWorkflow(input) {';
/** The code of an order of this amount does not end. */
const ENDLESS_PAISE = 66_600;

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  merchant: { webhooks: false },
});

/** A bundle of this checkout's workflows in which the code of some orders does not end. */
function endlessBundle(): string {
  const file = join(temporaryFolder(), 'workflows.json');
  const prebuilt = readFileSync(inject('workflowBundlePath'), 'utf8');
  const bundle = JSON.parse(prebuilt) as { code: string };
  expect(bundle.code).toContain(BEGINNING);
  const endless = `${BEGINNING} if (input.amountPaise === ${ENDLESS_PAISE}) for (;;);`;
  const code = bundle.code.replace(BEGINNING, endless);
  writeFileSync(file, JSON.stringify({ ...bundle, code }));
  return file;
}

test('workflow code that does not end is cut off, and other orders continue', async ({
  service,
  merchant,
}) => {
  const worker = await startWorkerProcess(service, {
    settings: { WORKFLOW_BUNDLE: endlessBundle() },
  });
  onTestFinished(() => worker.kill());
  const { merchantId } = merchant;
  const endless = await startOrder(service, { merchantId, amountPaise: ENDLESS_PAISE });
  const other = await startOrder(service, { merchantId });
  await other.pay();
  await other.untilStatus('PAID');
  const failure = await until(async () => {
    const { events } = await endless.handle.fetchHistory();
    return events?.find((event) => event.workflowTaskFailedEventAttributes)
      ?.workflowTaskFailedEventAttributes?.failure?.message;
  });
  expect(failure).toBe('Script execution timed out after 5000ms');
});

test('with call stacks, the Web UI shows where a workflow waits', async ({ service, merchant }) => {
  const worker = await startWorkerProcess(service, { settings: { WORKFLOW_CALL_STACKS: 'on' } });
  onTestFinished(() => worker.kill());
  const { stack } = await startedOrder(service, merchant);
  // At first it still reads its row.
  await until(async () => (await stack()).includes('inbox.ts'));
  expect(await stack()).toContain('inbox.ts');
});

test('without call stacks, it says so', async ({ service, merchant }) => {
  const worker = await startWorkerProcess(service, { settings: { WORKFLOW_CALL_STACKS: 'off' } });
  onTestFinished(() => worker.kill());
  const { stack } = await startedOrder(service, merchant);
  await expect(stack()).rejects.toThrow('Workflow stack traces are not enabled on this worker');
});

async function startedOrder(service: TestService, { merchantId }: Merchant) {
  const { handle } = await startOrder(service, { merchantId });
  return { stack: () => handle.query<string>('__stack_trace') };
}
