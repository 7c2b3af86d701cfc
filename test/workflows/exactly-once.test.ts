import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ORDER_WORKFLOW, SWEEP_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { writeDispute } from '../../src/orders/queries.ts';
import { anOrder } from '../support/api-client.ts';
import { directOrder, startOrderIn, until, writeOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

type Merchant = Awaited<ReturnType<TestService['newMerchant']>>;
const CANNOT_DELIVER = 'Cannot mark as delivered; order must be in PAID status';
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Merchant;

beforeAll(async () => {
  service = await startTestService({ time: 'real', settings: { SWEEP_AFTER_SECONDS: '0.001' } });
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const withKey = (key: string) => ({ 'Idempotency-Key': key });
const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));
/** Does some work for each item, for so many items at a time. */
async function inTurns<T, R>(
  atOnce: number,
  items: T[],
  work: (item: T) => Promise<R[]>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.values();
  const takeTurns = async () => {
    for (const item of queue) results.push(...(await work(item)));
  };
  await Promise.all(many(atOnce, takeTurns));
  return results;
}
const countWorkflows = async () =>
  (await service.temporal.client.workflow.count(`WorkflowType = '${ORDER_WORKFLOW}'`)).count;
const numberOf = (order: { order_number: string }) => `/orders/${order.order_number}`;

async function paidOrder() {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  return order;
}

/** Runs the Schedule's workflow once. */
const sweep = () =>
  service.temporal.client.workflow.execute<() => Promise<{ started: number }>>(SWEEP_WORKFLOW, {
    workflowId: `sweep-${randomUUID()}`,
    taskQueue: TASK_QUEUE,
  });

/** What Temporal's retention does one day: nothing is left of an order's workflow. */
async function forget(orderNumber: string): Promise<void> {
  const { client, namespace } = service.temporal;
  const handle = client.workflow.getHandle(orderNumber);
  await handle.result();
  await client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: orderNumber },
  });
  await until(() => isUnknown(orderNumber));
}

const isUnknown = (orderNumber: string) =>
  service.temporal.client.workflow
    .getHandle(orderNumber)
    .describe()
    .then(
      () => false,
      (error: unknown) => error instanceof WorkflowNotFoundError,
    );

describe('an order is created once for each key', () => {
  it('100 keys, each posted 20 times at once, make 100 orders and 100 workflows', async () => {
    const before = await countWorkflows();
    const keys = many(100, () => randomUUID());
    // All twenty of a key at once, and ten keys at once.
    const post = (key: string) => merchant.sandbox.post('/orders', anOrder(), withKey(key));
    const answers = await inTurns(10, keys, (key) => Promise.all(many(20, () => post(key))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const replayed = answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true');
    expect(replayed).toHaveLength(1900);

    const numbers = new Set(answers.map(({ body }) => body.data.order_number));
    expect(numbers.size).toBe(100);
    const [rows] = await service.sql<{ count: number }[]>`
      SELECT count(*) FROM orders WHERE idempotency_key IN ${service.sql(keys)}`;
    expect(rows?.count).toBe(100);
    await until(async () => (await countWorkflows()) === before + 100);
    for (const number of numbers) {
      const { status } = await service.temporal.client.workflow.getHandle(number).describe();
      expect(status.name).toBe('RUNNING');
    }
  });

  it('a key replayed when Temporal has forgotten the order answers it, and starts nothing', async () => {
    const key = randomUUID();
    const { body } = await merchant.sandbox.post('/orders', anOrder(), withKey(key));
    const { order_number: orderNumber } = body.data;
    await merchant.sandbox.post(`${numberOf(body.data)}/cancel`);
    await forget(orderNumber);

    const replay = await merchant.sandbox.post('/orders', anOrder(), withKey(key));
    expect(replay.status).toBe(201);
    expect(replay.headers.get('Idempotent-Replayed')).toBe('true');
    expect(replay.body.data).toMatchObject({ order_number: orderNumber, status: 'CANCELLED' });
    expect(await sweep()).toEqual({ started: 0 });
    expect(await isUnknown(orderNumber)).toBe(true);
  });
});

describe('what an API process left behind when it died', () => {
  it('an order with a row and no workflow is started by the sweeper, exactly once', async () => {
    const key = randomUUID();
    const { merchantId } = merchant;
    const row = await writeOrder(service, { merchantId, idempotency_key: key });
    const order = directOrder(service, row);
    expect(await isUnknown(order.orderNumber)).toBe(true);

    const swept = await Promise.all([sweep(), sweep()]);
    expect(swept.reduce((sum, { started }) => sum + started, 0)).toBeGreaterThanOrEqual(1);
    await order.untilStep('ORDER_CREATED');
    const { runId } = await order.handle.describe();
    expect(await sweep()).toEqual({ started: 0 });
    const replay = await merchant.sandbox.post('/orders', anOrder(), withKey(key));
    expect([replay.status, replay.body.data.order_number]).toEqual([201, order.orderNumber]);

    await merchant.sandbox.help(replay.body.data, 'pay');
    expect(await order.events()).toEqual(['1 ORDER_CREATED', '2 PAYMENT_SUCCESS']);
    expect((await order.handle.describe()).runId).toBe(runId);
  });

  it('a dispute that was written down and told to nobody is raised by the sweeper, once', async () => {
    const order = await paidOrder();
    const direct = await startOrderIn(service, 'PAID', { merchantId: merchant.merchantId });
    const requestId = `dispute:${randomUUID()}`;
    await writeDispute(service.sql, direct.orderNumber, { requestId, reason: 'It never came' });
    await Promise.all([sweep(), sweep()]);
    await direct.untilStatus('DISPUTE_OPEN');
    await sweep();
    expect(await direct.row()).toMatchObject({ dispute_count: 1, dispute_reason: 'It never came' });
    expect((await merchant.sandbox.get(numberOf(order))).body.data.status).toBe('PAID');
  });
});

describe('a command is carried out once', () => {
  it('of 30 deliveries at once exactly one wins, and the rest are refused', async () => {
    const order = await paidOrder();
    const answers = await Promise.all(
      many(30, () => merchant.sandbox.post(`${numberOf(order)}/deliver`)),
    );
    const won = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 400);
    expect([won.length, refused.length]).toEqual([1, 29]);
    expect(new Set(refused.map(({ body }) => body.message))).toEqual(new Set([CANNOT_DELIVER]));
  });

  it('of 30 Updates at once, 15 deliveries and 15 payments given up, one delivery wins', async () => {
    const order = await startOrderIn(service, 'PAID', { merchantId: merchant.merchantId });
    const refusals = await Promise.all(
      many(30, (index) => order.refusalOf(index % 2 === 0 ? 'deliver' : 'cancel')),
    );
    expect(refusals.filter((refusal) => refusal === undefined)).toHaveLength(1);
    expect(new Set(refusals)).toEqual(
      new Set([undefined, CANNOT_DELIVER, 'Cannot cancel; order must be in ACCEPTED status']),
    );
    expect((await order.row()).status).toBe('DELIVERED');
    expect(await order.events()).toHaveLength(3);
  });

  it.each([
    ['deliver', 'DELIVERED', () => paidOrder()],
    ['cancel', 'CANCELLED', () => merchant.sandbox.create()],
  ] as const)(
    'a %s repeated with its key gets the first answer again',
    async (path, status, make) => {
      const order = await make();
      const ask = () =>
        merchant.sandbox.post(`${numberOf(order)}/${path}`, undefined, withKey('once'));
      const first = await ask();
      expect([first.status, first.body.data.status]).toEqual([200, status]);

      const again = await Promise.all(many(5, ask));
      for (const { status: code, body } of again) {
        expect([code, body.data]).toEqual([200, first.body.data]);
      }
      const fresh = await merchant.sandbox.post(`${numberOf(order)}/${path}`);
      expect(fresh.status).toBe(400);
    },
  );

  it('a repeat gets the first answer again even when the order is over and forgotten', async () => {
    const order = await merchant.sandbox.create();
    const ask = () =>
      merchant.sandbox.post(`${numberOf(order)}/cancel`, undefined, withKey('once'));
    const first = await ask();
    await forget(order.order_number);
    expect((await ask()).body.data).toEqual(first.body.data);
    expect((await merchant.sandbox.post(`${numberOf(order)}/cancel`)).body.message).toBe(
      'Cannot cancel; order must be in ACCEPTED status',
    );
  });
});
