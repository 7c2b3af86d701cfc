import { env } from 'node:process';
import { expect } from 'vitest';
import { CLOSING } from '../support/gateway.ts';
import { liveThroughMessages } from '../support/long-order.ts';
import { eventNames } from '../../dev/orders/history.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

/** More than the 2,000 Updates after which the server accepts no more in one run. */
const UPDATES = Number(env['LOAD_UPDATES'] ?? 2100);
const SIGNALS = Number(env['LOAD_SIGNALS'] ?? 420);
const UPDATES_OF_ROUND = 50;
/** A run ends after 1,000 messages. */
const MOST_OF_RUN = 1250;

const test = serviceTest({
  time: 'real',
  callbacks: false,
  // A slow machine needs longer than the five minutes after which the webhook is retried.
  settings: { WEBHOOK_RETRY_DELAYS_SECONDS: '86400,86400,86400,86400' },
});

test(`an order with a waiting webhook accepts ${UPDATES.toLocaleString('en')} Updates and ${SIGNALS} Signals, and then continues normally`, async ({
  service,
  merchant,
  orders,
}) => {
  const messages = { updates: UPDATES, signals: SIGNALS, rounds: UPDATES / UPDATES_OF_ROUND };
  const { runs } = await liveThroughMessages({ service, merchant, orders }, messages);
  expect(runs).toBeGreaterThanOrEqual(Math.floor((UPDATES + SIGNALS) / MOST_OF_RUN));
});

test('after a cancel has failed at the gateway, further cancels are refused without a history event', async ({
  merchant,
  orders,
  gateway,
}) => {
  // The first test's endpoint refuses ORDER_CREATED: its hand-over would be an event of this order, too.
  merchant.receiver.answerWith(() => 200);
  const order = await orders.beingPaid();
  const fault = await gateway.addFault({ kind: 'error', path: CLOSING });
  const cancel = async () => (await order.cancel()).status;
  await until(async () => (await cancel()) === 502);
  const { handle } = await orders.workflowOf(order);
  // A refused Update may leave a workflow task.
  const events = async () =>
    (await eventNames(handle)).filter((name) => !name.startsWith('WORKFLOW_TASK'));
  // Some seconds later the service asks the gateway again: on a busy machine that may be meanwhile.
  await until(async () => {
    const before = await events();
    expect(await Promise.all([cancel(), cancel(), cancel()])).toEqual([502, 502, 502]);
    return (await events()).join() === before.join();
  });
  await fault.endFault();
  await until(async () => (await cancel()) === 200);
  expect((await order.read()).status).toBe('CANCELLED');
});
