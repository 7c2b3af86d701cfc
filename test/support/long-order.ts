import { ServiceError } from '@temporalio/client';
import { expect } from 'vitest';
import { TEST_ACTOR } from './actor.ts';
import { inParallel } from './in-parallel.ts';
import type { Merchant } from './merchant.ts';
import type { DirectOrder, Orders } from './orders.ts';
import type { TestService } from './service.ts';
import { until } from './until.ts';

const DAY_SECONDS = 24 * 3600;

interface LongOrderParts {
  service: TestService;
  merchant: Merchant;
  orders: Orders;
}

/** The messages sent to one order before it is paid: each is accepted and makes a step. */
interface Messages {
  updates: number;
  signals: number;
  /** Few at a time, so that a busy machine finishes a workflow task within its time-out. */
  rounds: number;
}

/**
 * Sends many messages to an order across continue-as-new, while a webhook waits for its retry. Then
 * the order is paid, delivered and completed like any other.
 */
export async function liveThroughMessages(
  { service, merchant, orders }: LongOrderParts,
  { updates, signals, rounds }: Messages,
): Promise<{ runs: number }> {
  merchant.receiver.answerWith(({ event }) => (event === 'ORDER_CREATED' ? 500 : 200));
  const order = await orders.in('ACCEPTED', { paymentLinkMs: 10 * DAY_SECONDS * 1000 });
  await merchant.receiver.until(1);
  const runIds = new Set([await runIdOf(order)]);
  const advance = (commandId: string) => ({ seconds: 1, commandId });
  for (let round = 0; round < rounds; round += 1) {
    const updateIds = idsOf(`u-${round}`, updates / rounds);
    const signalIds = idsOf(`s-${round}`, signals / rounds);
    await recordAdvances(service, order, [...updateIds, ...signalIds]);
    await Promise.all([
      inTurn(updateIds, (commandId) => order.update('advance', advance(commandId))),
      inTurn(signalIds, (commandId) => order.signal('advance', advance(commandId))),
    ]);
    const soFar = ((round + 1) * (updates + signals)) / rounds;
    await until(async () => (await countAdvances(service, order)) === soFar);
    runIds.add(await runIdOf(order));
  }
  expect(runIds.size).toBeGreaterThan(1);

  // Repeating a command that an earlier run has carried out changes nothing.
  await order.update('advance', { seconds: 1, commandId: 'u-0-0' });
  expect(await countAdvances(service, order)).toBe(updates + signals);

  await order.pay();
  await order.update('deliver');
  // The API would refuse it: the order has been moved more than 500 times.
  await recordAdvances(service, order, ['last']);
  await order.update('advance', { seconds: DAY_SECONDS, commandId: 'last' });
  await order.untilStatus('COMPLETED');
  await until(async () => (await deliveriesOf(service, order)).at(-1)?.state === 'DELIVERED');
  // The refused webhook still waits for its next attempt.
  expect(await deliveriesOf(service, order)).toEqual([
    { state: 'PENDING', attempts: 1 },
    { state: 'DELIVERED', attempts: 1 },
    { state: 'DELIVERED', attempts: 1 },
    { state: 'DELIVERED', attempts: 1 },
  ]);
  return { runs: runIds.size };
}

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
    INSERT INTO order_commands (order_number, command_id, name, body, actor, reason)
    SELECT ${orderNumber}, command_id, 'advance', '{"seconds": 1}', ${TEST_ACTOR.name}, 'A long order'
    FROM unnest(${commandIds}::text[]) AS command_id`;
}

/** Sends the command of each id, a few in parallel. */
const inTurn = (commandIds: string[], work: (commandId: string) => Promise<unknown>) =>
  inParallel(commandIds, 4, (commandId) => withRetries(() => work(commandId)));
