import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'vitest';
import { ORDER_WORKFLOW } from '../../src/contracts/ids.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { anOrder, withKey } from '../support/api-client.ts';
import { inParallel } from '../support/in-parallel.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { repeated } from '../support/repeated.ts';

/** The path of an order of the API. */
export const pathOf = (order: { order_number: string }) => `/orders/${order.order_number}`;

/** Makes so many of something. */
export const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

const countWorkflowsOf = async (service: TestService, { merchantId }: Merchant) => {
  const query = `WorkflowType = '${ORDER_WORKFLOW}' AND MerchantId = '${merchantId}'`;
  return (await service.temporal.client.workflow.count(query)).count;
};
/** Whether Temporal has no workflow of the order. */
export const isUnknown = (service: TestService, orderNumber: string) =>
  service.temporal.client.workflow
    .getHandle(orderNumber)
    .describe()
    .then(
      () => false,
      (error: unknown) => error instanceof WorkflowNotFoundError,
    );

/** Whether the sweep would wake the order. */
export const waitsForItsWorkflow = async ({ sql }: TestService, orderNumber: string) =>
  (await sql`SELECT FROM wakeups WHERE order_number = ${orderNumber}`).length > 0;

/**
 * Posts an order under each of so many new keys, several times concurrently: it is created once for each
 * key, with one workflow.
 */
export async function assertCreatedOnce(
  service: TestService,
  { keys: keyCount, times }: { keys: number; times: number },
): Promise<void> {
  const shop = await service.newMerchant({ webhooks: false });
  const keys = many(keyCount, () => randomUUID());
  // All posts of a key concurrently, and five keys at a time: with more, a slow machine's Temporal would
  // take longer than the API waits. They are more than one merchant's share, so some are repeated after a 429.
  const post = (key: string) => shop.sandbox.post('/orders', anOrder(), withKey(key));
  const answers: ApiAnswer[] = [];
  await inParallel(keys, 5, async (key) =>
    answers.push(...(await Promise.all(many(times, () => repeated(() => post(key)))))),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  const replayed = answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true');
  expect(replayed).toHaveLength(keyCount * (times - 1));

  const numbers = new Set(answers.map(({ body }) => body.data.order_number));
  expect(numbers.size).toBe(keyCount);
  const [rows] = await service.sql<{ count: number }[]>`
    SELECT count(*) FROM orders WHERE idempotency_key IN ${service.sql(keys)}`;
  expect(rows?.count).toBe(keyCount);
  await until(async () => (await countWorkflowsOf(service, shop)) === keyCount);
  for (const number of numbers) {
    const { status } = await service.temporal.client.workflow.getHandle(number).describe();
    expect(status.name).toBe('RUNNING');
  }
}
