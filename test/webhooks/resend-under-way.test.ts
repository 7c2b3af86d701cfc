import { expect } from 'vitest';
import { attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import { latestResend } from '../../src/webhooks/resend/resend-progress.ts';
import { resendSelected } from '../../src/webhooks/resend/resend.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf } from './deliveries.ts';

/** The workflow waits for longer than an attempt may hold its delivery. */
const WAIT_MS = 31_000;

const test = serviceTest({ time: 'skipping' });

test('a delivery that is being attempted is sent again after that attempt, never at the same time', async ({
  service,
  merchant,
}) => {
  const { orderNumber } = await writeOrder(service, merchant);
  const [{ deliveryId } = { deliveryId: '' }] = await deliveriesOf(service, orderNumber);
  const { promise: answer, resolve: answerNow } = Promise.withResolvers<number>();
  merchant.receiver.answerWith(() => answer);
  const scheduled = attemptScheduled(service.deps, deliveryId);
  await merchant.receiver.until(1);

  const owner = { merchantId: merchant.merchantId, environment: 'sandbox' as const };
  const { retries } = service.deps;
  let workflowId = '';
  const startResend = (resendId: string) => {
    workflowId = `resend-${resendId}`;
    return retries.startResend(resendId);
  };
  const deps = { ...service, actor: TEST_ACTOR, retries: { startResend } };
  expect(await resendSelected(deps, owner, [deliveryId])).toBe(1);
  const workflow = service.temporal.client.workflow.getHandle(workflowId);
  await until(async () => {
    const { events } = await workflow.fetchHistory();
    return events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
  });
  expect(merchant.receiver.received).toHaveLength(1);
  answerNow(500);
  await scheduled;
  await service.skip(WAIT_MS);
  await until(async () => (await latestResend(service.sql, owner))?.finishedAt);
  const [delivery] = await deliveriesOf(service, orderNumber);
  expect(delivery && attemptsOf(delivery)).toEqual(['scheduled 500', 'manual 500']);
});
