import { expect } from 'vitest';
import { storableFailures } from '../../src/main/worker/storable-failures.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

const test = serviceTest({ time: 'real', worker: false });
const CANARY = 'canary-in-a-row';

test('Temporal stores the failure of an activity without the values that PostgreSQL quotes', async ({
  service,
  merchant,
}) => {
  merchant.receiver.answerWith(() => 500);
  const sendWebhook = async () => {
    await service.sql`SELECT ${CANARY}::text::uuid`;
  };
  const worker = await service.startWorker(
    { sendWebhook },
    { interceptors: { activity: [storableFailures] } },
  );
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const failure = await until(async () => {
    const handle = service.temporal.client.workflow.getHandle(orderNumber);
    const { raw } = await handle.describe();
    return raw.pendingActivities?.[0]?.lastFailure;
  });
  await worker.stop();
  expect(failure).toMatchObject({
    message: 'invalid input syntax for type uuid: "…"',
    applicationFailureInfo: { type: 'PostgresError' },
    stackTrace: expect.stringContaining('    at '),
  });
  expect(JSON.stringify(failure)).not.toContain(CANARY);
});
