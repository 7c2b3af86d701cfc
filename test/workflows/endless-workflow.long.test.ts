import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import { startOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { deliveriesOf } from '../webhooks/deliveries.ts';

/** Where the code of an order's workflow begins in a bundle. */
const BEGINNING = 'async function orderWorkflow(input) {';
/** The code of an order of this amount does not end. */
const ENDLESS_PAISE = 66_600;

const test = serviceTest({ time: 'real', worker: false });

/** A bundle in which the workflow of an order of {@link ENDLESS_PAISE} does not end. */
function writeEndlessBundle(): string {
  const file = join(temporaryFolder(), 'workflows.json');
  const bundle = JSON.parse(readFileSync(inject('workflowBundlePath'), 'utf8')) as { code: string };
  expect(bundle.code).toContain(BEGINNING);
  const endless = `${BEGINNING} if (input.amountPaise === ${ENDLESS_PAISE}) for (;;);`;
  const code = bundle.code.replace(BEGINNING, endless);
  writeFileSync(file, JSON.stringify({ ...bundle, code }));
  return file;
}

test('workflow code that does not end is cut off by the SDK; the order beside it ends, each webhook sent once', async ({
  service,
  merchant: { merchantId },
}) => {
  const settings = { WORKFLOW_BUNDLE: writeEndlessBundle() };
  const worker = await startWorkerProcess(service, { settings });
  onTestFinished(() => worker.kill());
  const startEndless = () => startOrder(service, { merchantId, amountPaise: ENDLESS_PAISE });
  let endless = await startEndless();
  const beside = await startOrder(service, { merchantId });
  await beside.pay();
  const failures = await until(async () => {
    const { events } = await endless.handle.fetchHistory();
    const failed = (events ?? []).flatMap(
      ({ workflowTaskFailedEventAttributes: task }) => task?.failure?.message ?? [],
    );
    // A task that is cut off later than Temporal's 10 s has timed out, and those after it record no failure.
    const isLate = events?.some(({ workflowTaskTimedOutEventAttributes: late }) => late);
    if (failed.length === 0 && isLate === true) {
      await endless.handle.terminate();
      endless = await startEndless();
    }
    return failed.length > 0 ? failed : undefined;
  });
  expect(failures).toEqual(['Script execution timed out after 5000ms']);
  const sent = await until(async () => {
    const deliveries = await deliveriesOf(service, beside.orderNumber);
    return deliveries.length === 2 && deliveries.every(({ state }) => state === 'DELIVERED')
      ? deliveries
      : undefined;
  });
  expect(sent?.map(({ attempts }) => attempts.length)).toEqual([1, 1]);
});
