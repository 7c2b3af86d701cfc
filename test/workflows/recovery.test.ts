import { randomUUID } from 'node:crypto';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { describe, expect } from 'vitest';
import { ORDER_WORKFLOW } from '../../src/contracts/ids.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import { compareOrders } from '../../src/orders/wake/compare-orders.ts';
import { createOrderWorkflows } from '../../src/temporal/order-workflows.ts';
import { listAlerts, raiseAlert } from '../../src/alerts/alerts.ts';
import { listAudit } from '../../src/merchants/public.ts';
import { wakeOrder } from '../../src/orders/wake/wake-order.ts';
import { eventNames } from '../../dev/orders/history.ts';
import { adminCli } from '../support/admin-cli.ts';
import { anOrder } from '../support/api-client.ts';
import { backUp } from '../support/backup.ts';
import { ledgerOf, madeAtGateway, reconcileLater, sweep } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import type { DirectOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DAY_SECONDS = 24 * 3600;

const test = serviceTest({
  time: 'real',
  callbacks: false,
  settings: { SWEEP_AFTER_SECONDS: '0.001' },
})
  /** An order in a status, whose workflow is terminated. */
  .extend('withoutWorkflow', ({ service, orders }) => async (status: OrderStatus) => {
    const order = await orders.in(status);
    await terminate(order, service);
    return order;
  })
  /** An order that is backed up in a status; `restore` replaces its rows with the backup. */
  .extend('backedUp', ({ service, orders }) => async (status: OrderStatus) => {
    const order = await orders.in(status);
    return { order, restore: await backUp(service, order.orderNumber) };
  });
// While the database's clock is ahead of the worker's, an attempt of a webhook waits for the difference.
test.afterEach(({ service }) => service.clock.set(0));

const alertsAbout = async ({ sql }: TestService, subject: string) =>
  (await listAlerts(sql, { subject, show: 'all' }, 100)).alerts.map(
    ({ kind, clearedReason }) => `${kind}: ${clearedReason ?? 'open'}`,
  );

/** The order's webhooks in the order in which its merchant received them: event id and event. */
const eventIdsOf = async ({ sql }: TestService, { orderNumber }: DirectOrder) =>
  sql<{ eventId: string; type: string }[]>`
    SELECT event_id, type FROM order_events WHERE order_number = ${orderNumber} ORDER BY sequence`;

/** Once its webhooks have ended: one that is handed over to the order's workflow would start it again. */
const terminate = async ({ handle, orderNumber }: DirectOrder, { sql }: TestService) => {
  await until(async () => {
    const pending = await sql`
      SELECT FROM order_events JOIN webhook_deliveries USING (event_id)
      WHERE order_number = ${orderNumber} AND state = 'PENDING'`;
    return pending.length === 0;
  });
  await handle.terminate('A test');
  await until(async () => (await handle.describe()).status.name === 'TERMINATED');
};

async function complete(order: DirectOrder): Promise<void> {
  await order.update('advance', { seconds: DAY_SECONDS });
  await order.untilStatus('COMPLETED');
}

test('a command recovers a missing workflow first and is then carried out', async ({
  service,
  merchant,
  withoutWorkflow,
}) => {
  const order = await withoutWorkflow('PAID');
  const { status, body } = await merchant.sandbox.post(`/orders/${order.orderNumber}/deliver`);
  expect([status, body.data.status]).toEqual([200, 'DELIVERED']);
  expect(await alertsAbout(service, order.orderNumber)).toEqual(['workflow_missing: open']);
  await complete(order);
  expect(await order.kinds()).toEqual([
    'ORDER_CREATED',
    'PAYMENT_SUCCESS',
    'DELIVERY_CONFIRMED',
    'CLOCK_ADVANCED',
    'RELEASE_STARTED',
    'ORDER_COMPLETED',
  ]);
});

test('the comparison clears the alert about a missing workflow that runs again', async ({
  service,
  withoutWorkflow,
}) => {
  const [missing, running] = [await withoutWorkflow('PAID'), await withoutWorkflow('PAID')];
  await wakeOrder(service.deps, running.orderNumber);
  expect(await alertsAbout(service, running.orderNumber)).toEqual(['workflow_missing: open']);
  // A comparison starts the missing one. At first a workflow has not shown its status yet.
  await until(async () => {
    await compareOrders(service.deps);
    const about = [missing, running].map(({ orderNumber }) => alertsAbout(service, orderNumber));
    const alerts = await Promise.all(about);
    return alerts.every((those) => those.join() === 'workflow_missing: its workflow runs');
  });
});

test('an order is woken while its first task runs', async ({ service, orders }) => {
  await service.sql`ALTER FUNCTION waiting_dispute_of RENAME TO away`;
  const order = await orders.start();
  const has = (name: string) => async () => (await eventNames(order.handle)).includes(name);
  try {
    await until(has('WORKFLOW_TASK_STARTED'));
    expect(await wakeOrder(service.deps, order.orderNumber)).toBe('signalled');
  } finally {
    await service.sql`ALTER FUNCTION away RENAME TO waiting_dispute_of`;
  }
  await until(has('WORKFLOW_EXECUTION_SIGNALED'));
});

/** Workflows that are asked through an interceptor. */
function workflowsThrough({ temporal }: TestService, interceptor: WorkflowClientInterceptor) {
  const { connection, options } = temporal.client;
  const interceptors = { workflow: [interceptor] };
  return createOrderWorkflows(
    new Client({ connection, namespace: options.namespace, interceptors }),
  );
}

test('a workflow that Temporal lists, and has lost, is started again after a restore', async ({
  service,
  withoutWorkflow,
}) => {
  const { orderNumber, handle } = await withoutWorkflow('PAID');
  const lost = {
    listRunning: () => Promise.resolve(new Map([[orderNumber, 'PAID'] as const])),
    lastChangedAt: () => Promise.resolve(undefined),
  };
  const deps = { ...service.deps, workflows: { ...service.deps.workflows, ...lost } };
  await compareOrders(deps, { changedSince: new Date() });
  expect((await handle.describe()).status.name).toBe('RUNNING');
});

/** Temporal's list names a workflow for some time after it has ended. */
test('the comparison clears no alert about an order that it cannot compare, also if it is listed as running', async ({
  service,
  withoutWorkflow,
}) => {
  const { orderNumber } = await withoutWorkflow('PAID');
  const message = 'A test raises it';
  await raiseAlert(service.deps, { kind: 'workflow_missing', subject: orderNumber, message });
  const workflows = workflowsThrough(service, {
    describe: () => Promise.reject(new Error('Temporal does not answer')),
  });
  for (const running of [[], [orderNumber]]) {
    const listed = new Map(running.map((number) => [number, 'PAID'] as const));
    const listRunning = () => Promise.resolve(listed);
    await compareOrders({ ...service.deps, workflows: { ...workflows, listRunning } });
  }
  expect(await alertsAbout(service, orderNumber)).toEqual(['workflow_missing: open']);
});

test('a run that has ended is found with its result, also if a new run starts at that moment', async ({
  service,
  orders,
}) => {
  const { orderNumber, handle } = await orders.in('CANCELLED');
  await handle.result();
  const { workflow } = service.temporal.client;
  // No worker polls its task queue, so this run does not end.
  const start = () =>
    workflow.start(ORDER_WORKFLOW, { workflowId: orderNumber, taskQueue: 'without-workers' });
  const workflows = workflowsThrough(service, {
    async describe(input, next) {
      const found = await next(input);
      await start();
      return found;
    },
  });
  expect(await workflows.find(orderNumber)).toMatchObject({
    state: 'closed',
    result: { status: 'CANCELLED' },
  });
  await workflow.getHandle(orderNumber).terminate();
});

test('an order whose workflow is missing accepts a dispute', async ({
  merchant,
  withoutWorkflow,
}) => {
  const order = await withoutWorkflow('DELIVERED');
  const reason = 'The parcel was empty when it came';
  const { status } = await merchant.sandbox.help(order, 'dispute', { reason });
  expect([status, (await order.row()).status]).toEqual([200, 'DISPUTE_OPEN']);
});

test('a capture of an order whose workflow is missing makes it PAID and is not refunded', async ({
  service,
  orders,
}) => {
  const order = await orders.in('ACCEPTED');
  const gatewayPaymentId = await order.capture();
  await terminate(order, service);
  await reconcileLater(service);
  await order.untilStatus('PAID');
  expect(await madeAtGateway(service, gatewayPaymentId, 'refunds')).toEqual([]);
});

test('a webhook that a restored database has lost ends with an alert', async ({ service }) => {
  const deliveryId = 'dlv_lost';
  expect(await attemptScheduled(service.deps, deliveryId)).toMatchObject({ outcome: 'failed' });
  expect(await alertsAbout(service, deliveryId)).toEqual(['delivery_unknown: open']);
});

test('the comparison recovers each missing workflow, and its deadlines take effect', async ({
  service,
  orders,
}) => {
  const [delivered, disputed] = [await orders.in('DELIVERED'), await orders.in('DISPUTE_OPEN')];
  const healthy = await orders.in('PAID');
  for (const order of [delivered, disputed]) await terminate(order, service);
  // Temporal's list of workflows lags behind.
  await until(async () => {
    await compareOrders(service.deps);
    const found = await Promise.all([delivered, disputed].map(({ handle }) => handle.describe()));
    return found.every(({ status }) => status.name === 'RUNNING');
  });
  expect(await alertsAbout(service, healthy.orderNumber)).toEqual([]);
  await complete(delivered);
  await disputed.update('advance', { seconds: 3 * DAY_SECONDS });
  await disputed.untilStatus('REFUNDED');
});

test('the comparison continues if one order cannot be recovered', async ({ service, orders }) => {
  const [broken, other] = [await orders.in('PAID'), await orders.in('PAID')];
  for (const order of [broken, other]) await terminate(order, service);
  const { workflows } = service.deps;
  const deps = {
    ...service.deps,
    workflows: {
      ...workflows,
      find: async (orderNumber: string) => {
        if (orderNumber === broken.orderNumber) throw new Error('Temporal did not answer');
        return workflows.find(orderNumber);
      },
    },
  };
  await until(async () => {
    await compareOrders(deps);
    return (await other.handle.describe()).status.name === 'RUNNING';
  });
  expect((await broken.handle.describe()).status.name).toBe('TERMINATED');
});

test('a database that has lost a payment step gets it back once, under the same event id', async ({
  service,
  merchant,
  backedUp,
}) => {
  const { order, restore } = await backedUp('ACCEPTED');
  await order.pay();
  const before = await eventIdsOf(service, order);
  const { gatewayPaymentId: paymentId } = await order.row();
  await merchant.receiver.until(1, ({ body }) => body.event_id === before[1]!.eventId);
  await restore();
  expect((await order.row()).status).toBe('ACCEPTED');

  const { status, body } = await merchant.sandbox.post(`/orders/${order.orderNumber}/deliver`);
  expect([status, body.data.status]).toEqual([200, 'DELIVERED']);
  expect((await eventIdsOf(service, order)).slice(0, 2)).toEqual(before);
  expect(await order.row()).toMatchObject({ gatewayPaymentId: paymentId, stepNumber: 3 });
  await merchant.receiver.until(2, ({ body: { event_id } }) => event_id === before[1]!.eventId);
  expect(await alertsAbout(service, order.orderNumber)).toEqual([
    'order_behind: the steps were recorded again',
  ]);
  const { body: timeline } = await merchant.sandbox.get(`/orders/${order.orderNumber}/timeline`);
  expect(JSON.stringify(timeline)).toContain('"recovered":true');
  await complete(order);
  expect((await ledgerOf(service, order.orderNumber)).balances).toEqual({
    gateway_clearing: -1_000_000 + (1_000_000 - (await order.row()).amountPaise),
    merchant_available: (await order.row()).amountPaise,
  });
});

test('a dispute that a restored database has lost is not refused when it is repeated', async ({
  merchant,
  backedUp,
}) => {
  const { order, restore } = await backedUp('ACCEPTED');
  await order.pay();
  const key = { 'Idempotency-Key': randomUUID() };
  const raise = () =>
    merchant.sandbox.post(
      `/test-helpers/orders/${order.orderNumber}/dispute`,
      { reason: 'The parcel was empty when it came' },
      key,
    );
  expect((await raise()).status).toBe(200);
  await restore();
  expect((await order.row()).status).toBe('ACCEPTED');

  expect((await raise()).status).toBe(500);
  await order.untilStep('DISPUTE_RAISED');
  const { status, body } = await raise();
  expect([status, body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
  expect(await order.kinds()).toEqual(['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DISPUTE_RAISED']);
});

test('a command whose step is recorded again before its repeat is a line that is done', async ({
  service,
  merchant,
  backedUp,
}) => {
  const { order, restore } = await backedUp('PAID');
  const { orderNumber } = order;
  const key = { 'Idempotency-Key': randomUUID() };
  const deliver = () => merchant.sandbox.post(`/orders/${orderNumber}/deliver`, undefined, key);
  expect((await deliver()).status).toBe(200);
  await restore();
  await wakeOrder(service.deps, orderNumber);
  await order.untilStep('DELIVERY_CONFIRMED');
  expect((await deliver()).status).toBe(200);
  expect(
    await service.sql`
    SELECT name, state FROM order_commands WHERE order_number = ${orderNumber}`,
  ).toEqual([{ name: 'deliver', state: 'DONE' }]);
  const { entries } = await listAudit(service.sql, { orderNumber }, 100);
  expect(entries.map(({ action }) => action)).not.toContain('DELIVERY_CONFIRMED');
});

test('a command that the row allows and the workflow refuses makes both agree', async ({
  merchant,
  backedUp,
}) => {
  const { order, restore } = await backedUp('PAID');
  await order.update('deliver');
  await restore();
  expect((await order.row()).status).toBe('PAID');
  const deliver = await merchant.sandbox.post(`/orders/${order.orderNumber}/deliver`);
  // The order was delivered before the backup was restored; now the row shows it again.
  expect([deliver.status, (await order.row()).status]).toEqual([400, 'DELIVERED']);
  expect(await order.kinds()).toEqual(['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED']);
  await complete(order);
});

test('an order that had ended before a backup was restored ends again and moves no money twice', async ({
  service,
  backedUp,
}) => {
  const { order, restore } = await backedUp('DELIVERED');
  await complete(order);
  expect(await order.handle.result()).toMatchObject({ status: 'COMPLETED' });
  await restore();
  expect((await order.row()).status).toBe('DELIVERED');
  const { code, stdout } = await adminCli(service.env).run(
    'order',
    'recover',
    '--order',
    order.orderNumber,
  );
  expect([code, stdout.trim()]).toEqual([0, 'Its workflow was missing, and is started again.']);
  await order.untilStatus('COMPLETED');
  expect((await order.kinds()).slice(-2)).toEqual(['RELEASE_STARTED', 'ORDER_COMPLETED']);
  expect(await order.made('transfers')).toHaveLength(1);
});

test.for([
  [
    'release',
    'transfers',
    (order: DirectOrder) => order.update('advance', { seconds: DAY_SECONDS }),
    ['CLOCK_ADVANCED', 'RELEASE_STARTED', 'ORDER_COMPLETED'],
  ],
  [
    'refund',
    'refund',
    (order: DirectOrder) => order.update('refund'),
    ['REFUND_STARTED', 'REFUND_PROCESSED'],
  ],
] as const)(
  'a database that is restored while the gateway makes a %s gets the lost steps back, then the last one',
  async ([, call, begin, kinds], { service, gateway, backedUp }) => {
    const { order, restore } = await backedUp('DELIVERED');
    const path = `/v1/payments/${await order.paymentId()}/${call}`;
    const { hits, endFault } = await gateway.addFault({ kind: 'held', method: 'POST', path });
    await begin(order);
    await until(async () => (await hits()) === 1);
    await restore();
    await endFault();
    await order.handle.result();
    expect((await order.kinds()).slice(3)).toEqual(kinds);
    expect(await order.made(call === 'refund' ? 'refunds' : call)).toHaveLength(1);
    expect(await order.ledgerLines()).toHaveLength(2);
    expect(await alertsAbout(service, order.orderNumber)).toEqual([
      'order_behind: the steps were recorded again',
    ]);
  },
);

describe('an order that had not begun when a backup was made, and has ended before it was restored', () => {
  test.for([
    ['the sweep', ({ service }) => sweep(service)],
    [
      'a repeated creation',
      ({ merchant, key }) =>
        merchant.sandbox.post('/orders', anOrder(), { 'Idempotency-Key': key }),
    ],
  ] satisfies [
    string,
    (at: { service: TestService; merchant: Merchant; key: string }) => unknown,
  ][])(
    'gets its steps back through %s, and moves no money twice',
    async ([, recover], { service, merchant, orders }) => {
      const key = randomUUID();
      const { orderNumber } = await orders.write({ idempotencyKey: key });
      const restore = await backUp(service, orderNumber);
      const order = await orders.workflowOf({ order_number: orderNumber });
      await order.start();
      await order.pay();
      await order.update('deliver');
      await complete(order);
      await order.handle.result();
      const kinds = await order.kinds();
      await restore();
      expect(await order.kinds()).toEqual(['ORDER_CREATED']);
      await recover({ service, merchant, key });
      await order.untilStatus('COMPLETED');
      expect(await order.kinds()).toEqual(kinds);
      expect(await order.made('transfers')).toHaveLength(1);
    },
  );
});

test('an order that had not begun when a backup was made is compared by the sweep while its workflow runs', async ({
  service,
  orders,
}) => {
  const { orderNumber } = await orders.write();
  const restore = await backUp(service, orderNumber);
  const order = await orders.workflowOf({ order_number: orderNumber });
  await order.start();
  await order.update('failPayment');
  await restore();
  await sweep(service);
  await order.untilStep('PAYMENT_FAILED');
  expect(
    await service.sql`
    SELECT FROM order_wakeups WHERE order_number = ${orderNumber} AND cause = 'creation'`,
  ).toHaveLength(0);
});

test('an order that was refunded after the backup of both sides is not refunded again', async ({
  backedUp,
}) => {
  const { order, restore } = await backedUp('DISPUTE_OPEN');
  await order.update('accept');
  await order.untilStatus('REFUNDED');
  await order.handle.result();
  await restore();
  // Its workflow has no refund either, like one from a backup of the same time.
  await order.start();
  await order.update('accept');
  await order.untilStatus('REFUNDED');
  expect(await order.made('refunds')).toHaveLength(1);
});

test('a restored workflow adopts the database’s steps', async ({ merchant, withoutWorkflow }) => {
  // The workflow starts as it was at the order's creation, and the row is ahead.
  const order = await withoutWorkflow('DELIVERED');
  await order.start();
  const { body } = await merchant.sandbox.post(`/orders/${order.orderNumber}/deliver`);
  expect(body.message).toBe('Cannot mark as delivered; order must be in PAID status');
  await complete(order);
  expect(await order.handle.result()).toMatchObject({ status: 'COMPLETED', webhookEvents: 4 });
});

test('a workflow whose order is not in the database only raises an alert', async ({
  service,
  merchant,
}) => {
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const input = {
    orderNumber: `${orderNumber}X`,
    merchantId: merchant.merchantId,
    amountPaise: 10_000,
    createdAtMs: Date.now(),
    paymentLinkExpiresAtMs: Date.now() + 1000_000,
    terms: { environment: 'sandbox' as const, completionWindowMs: 1000, disputeAnswerMs: 1000 },
  };
  await service.deps.workflows.start(input);
  await until(async () => (await alertsAbout(service, input.orderNumber)).length > 0);
  expect(await alertsAbout(service, input.orderNumber)).toEqual(['order_without_row: open']);
  const handle = service.temporal.client.workflow.getHandle(input.orderNumber);
  expect((await handle.describe()).status.name).toBe('RUNNING');
});
