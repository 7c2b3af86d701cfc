import { env } from 'node:process';
import { ServiceError } from '@temporalio/client';
import { expect } from 'vitest';
import { eventNames } from '../../dev/orders/history.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { CLOSING } from '../support/gateway.ts';
import { inParallel } from '../support/in-parallel.ts';
import type { DirectOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DAY_SECONDS = 24 * 3600;
/** More than the 2,000 Updates after which the server accepts no more in one run. */
const UPDATES = Number(env['LOAD_UPDATES'] ?? 2100);
const SIGNALS = Number(env['LOAD_SIGNALS'] ?? 420);
/** Few messages at a time, so that a busy machine finishes a workflow task within its time-out. */
const ROUNDS = UPDATES / 50;
/** A run ends after 1,000 messages. */
const MOST_OF_RUN = 1250;

const test = serviceTest({
  time: 'real',
  callbacks: false,
  // A slow machine needs longer than the five minutes after which the webhook is retried.
  settings: { WEBHOOK_RETRY_DELAYS_SECONDS: '86400,86400,86400,86400' },
});

const runIdOf = async ({ handle }: DirectOrder) => (await handle.describe()).runId;

async function countAdvances({ sql }: TestService, { orderNumber }: DirectOrder): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::integer FROM order_steps
    WHERE order_number = ${orderNumber} AND kind = 'CLOCK_ADVANCED'`;
  return row?.count ?? 0;
}

const deliveriesOf = ({ sql }: TestService, { orderNumber }: DirectOrder) =>
  sql<{ state: string; attempts: number }[]>`
    SELECT d.state, count(a.attempt_id)::int AS attempts
    FROM webhook_deliveries d JOIN order_events e USING (event_id)
    LEFT JOIN webhook_attempts a USING (delivery_id)
    WHERE e.order_number = ${orderNumber} GROUP BY d.delivery_id, e.sequence, d.state
    ORDER BY e.sequence`;

/** Repeats as a client does: on a busy machine the server may take too long to respond. */
const withRetries = (work: () => Promise<unknown>) =>
  until(() =>
    work().then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
        return false;
      },
    ),
  );

const idsOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** Records the commands, as the API does before it sends their messages. */
async function recordAdvances(
  { sql }: TestService,
  { orderNumber }: DirectOrder,
  commandIds: string[],
): Promise<void> {
  await sql`
    INSERT INTO order_commands (order_number, command_id, name, body, actor, reason, merchant_id, received_at)
    SELECT order_number, command_id, 'advance', '{"seconds": 1}', ${TEST_ACTOR.name}, 'A long order',
      merchant_id, now()
    FROM orders, unnest(${commandIds}::text[]) AS command_id WHERE order_number = ${orderNumber}`;
}

/** Sends the command of each id, a few in parallel. */
const inTurn = (commandIds: string[], work: (commandId: string) => Promise<unknown>) =>
  inParallel(commandIds, 4, (commandId) => withRetries(() => work(commandId)));

test(`an order with a waiting webhook accepts ${UPDATES.toLocaleString('en')} Updates and ${SIGNALS} Signals, and then continues normally`, async ({
  service,
  merchant,
  orders,
}) => {
  merchant.receiver.answerWith(({ event }) => (event === 'ORDER_CREATED' ? 500 : 200));
  const order = await orders.in('ACCEPTED', { paymentLinkMs: 10 * DAY_SECONDS * 1000 });
  await merchant.receiver.until(1);
  const runIds = new Set([await runIdOf(order)]);
  const advance = (commandId: string) => ({ seconds: 1, commandId });
  for (let round = 0; round < ROUNDS; round += 1) {
    const updateIds = idsOf(`u-${round}`, UPDATES / ROUNDS);
    const signalIds = idsOf(`s-${round}`, SIGNALS / ROUNDS);
    await recordAdvances(service, order, [...updateIds, ...signalIds]);
    await Promise.all([
      inTurn(updateIds, (commandId) => order.update('advance', advance(commandId))),
      inTurn(signalIds, (commandId) => order.signal('advance', advance(commandId))),
    ]);
    const soFar = ((round + 1) * (UPDATES + SIGNALS)) / ROUNDS;
    await until(async () => (await countAdvances(service, order)) === soFar);
    runIds.add(await runIdOf(order));
  }
  expect(runIds.size).toBeGreaterThanOrEqual(Math.floor((UPDATES + SIGNALS) / MOST_OF_RUN));

  // Repeating a command that an earlier run has carried out changes nothing.
  await order.update('advance', { seconds: 1, commandId: 'u-0-0' });
  expect(await countAdvances(service, order)).toBe(UPDATES + SIGNALS);

  await order.pay();
  await order.update('deliver');
  // The API would refuse it: the order has been moved more than 500 times.
  await recordAdvances(service, order, ['last']);
  await order.update('advance', { seconds: DAY_SECONDS, commandId: 'last' });
  await order.untilStatus('COMPLETED');
  await until(async () => {
    const [, ...others] = await deliveriesOf(service, order);
    return others.every(({ state }) => state === 'DELIVERED');
  });
  // The refused webhook still waits for its next attempt.
  expect(await deliveriesOf(service, order)).toEqual([
    { state: 'PENDING', attempts: 1 },
    { state: 'DELIVERED', attempts: 1 },
    { state: 'DELIVERED', attempts: 1 },
    { state: 'DELIVERED', attempts: 1 },
  ]);
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
