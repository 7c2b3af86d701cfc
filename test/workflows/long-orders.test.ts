import { ServiceError } from '@temporalio/client';
import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { CLOSING } from '../support/gateway.ts';
import { until } from '../support/until.ts';

/** More than the server takes in one run, and then none, for ever: 2,000 Updates. */
const UPDATES = 2500;
const SIGNALS = 2500;
/** In rounds, so that a machine that is starved finishes a workflow task in its time. */
const ROUNDS = 50;
const DAY_SECONDS = 24 * 3600;

const test = serviceTest({ time: 'real', callbacks: false });

const runIdOf = async ({ temporal }: TestService, orderNumber: string) =>
  (await temporal.client.workflow.getHandle(orderNumber).describe()).runId;

/** A client's patience: on a starved machine the server may take too long to answer. */
const persistently = (work: () => Promise<unknown>) =>
  until(() =>
    work().then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
        return false;
      },
    ),
  );

/** Does something so many times, a few at once. */
async function times(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  const indexes = Array.from({ length: count }, (_, index) => index).values();
  const takeTurns = async () => {
    for (const index of indexes) await persistently(() => work(index));
  };
  await Promise.all(Array.from({ length: 4 }, takeTurns));
}

test(
  'an order takes 2,500 Updates and as many Signals, with a webhook waiting, and then lives on',
  { timeout: 900_000 },
  async ({ service, merchant, orders }) => {
    merchant.receiver.answerWith(({ event }) => (event === 'ORDER_CREATED' ? 500 : 200));
    const order = await orders.in('ACCEPTED', { paymentLinkMs: 10 * DAY_SECONDS * 1000 });
    await merchant.receiver.until(1);
    const firstRun = await runIdOf(service, order.orderNumber);
    const advanced = async () =>
      (await order.kinds()).filter((kind) => kind === 'CLOCK_ADVANCED').length;
    const advance = (requestId: string) => ({ seconds: 1, requestId });
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.all([
        times(UPDATES / ROUNDS, (index) => order.update('advance', advance(`u-${round}-${index}`))),
        times(SIGNALS / ROUNDS, (index) => order.signal('advance', advance(`s-${round}-${index}`))),
      ]);
      const soFar = ((round + 1) * (UPDATES + SIGNALS)) / ROUNDS;
      await until(async () => (await advanced()) === soFar);
    }
    expect(await runIdOf(service, order.orderNumber)).not.toBe(firstRun);

    // A repeat of a request that an earlier run has carried out changes nothing.
    await order.update('advance', { seconds: 1, requestId: 'u-0-0' });
    expect(await advanced()).toBe(UPDATES + SIGNALS);

    await order.pay();
    await order.update('deliver');
    await order.update('advance', { seconds: DAY_SECONDS });
    await order.untilStatus('COMPLETED');
    // The webhook that was refused waits for its next attempt, as it did before.
    const deliveries = await service.sql<{ state: string; attempts: number }[]>`
    SELECT d.state, count(a.attempt_id)::int AS attempts
    FROM webhook_deliveries d JOIN order_events e USING (event_id)
    LEFT JOIN webhook_attempts a USING (delivery_id)
    WHERE e.order_number = ${order.orderNumber} GROUP BY d.delivery_id, e.sequence, d.state
    ORDER BY e.sequence`;
    expect(deliveries).toEqual([
      { state: 'PENDING', attempts: 1 },
      { state: 'DELIVERED', attempts: 1 },
      { state: 'DELIVERED', attempts: 1 },
      { state: 'DELIVERED', attempts: 1 },
    ]);
  },
);

test('after a cancel that failed at the gateway, further ones are refused without an event', async ({
  merchant,
  orders,
  gateway,
}) => {
  const { order_number } = await merchant.sandbox.create();
  await merchant.sandbox.post(`/orders/${order_number}/payment-sessions`);
  const fault = await gateway.addFault({ kind: 'error', path: CLOSING });
  const cancel = async () => (await merchant.sandbox.post(`/orders/${order_number}/cancel`)).status;
  await until(async () => (await cancel()) === 502);
  const { handle } = await orders.workflowOf({ order_number });
  const { historyLength: before } = await handle.describe();
  expect(await Promise.all([cancel(), cancel(), cancel()])).toEqual([502, 502, 502]);
  expect((await handle.describe()).historyLength).toBe(before);
  await fault.mend();
  // Some seconds later the gateway is asked again.
  await until(async () => (await cancel()) === 200);
  expect((await (await orders.workflowOf({ order_number })).row()).status).toBe('CANCELLED');
});
