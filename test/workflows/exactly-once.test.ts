import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ORDER_WORKFLOW, SWEEP_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { writeDispute } from '../../src/orders/queries.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { anOrder } from '../support/api-client.ts';
import { eventNames } from '../support/history.ts';
import { directOrder, startOrderIn, until, writeOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

type Merchant = Awaited<ReturnType<TestService['newMerchant']>>;
const FORGOTTEN_KEY = 'of-an-order-long-ago';
const CANNOT_CANCEL = 'Cannot cancel; order must be in ACCEPTED status';
const CANNOT_DELIVER = 'Cannot mark as delivered; order must be in PAID status';
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Merchant;
let forgotten: Order;

beforeAll(async () => {
  service = await startTestService({ time: 'real', settings: { SWEEP_AFTER_SECONDS: '0.001' } });
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
  // Early, for Temporal takes its time.
  const created = await merchant.sandbox.create({}, withKey(FORGOTTEN_KEY));
  const path = `${numberOf(created)}/cancel`;
  forgotten = (await merchant.sandbox.post(path, undefined, withKey(FORGOTTEN_KEY))).body.data;
  await askToForget(forgotten.order_number);
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
const countWorkflowsOf = async ({ merchantId }: Merchant) => {
  const query = `WorkflowType = '${ORDER_WORKFLOW}' AND MerchantId = '${merchantId}'`;
  return (await service.temporal.client.workflow.count(query)).count;
};
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

/** What Temporal's retention does one day: nothing will be left of an order's workflow. */
async function askToForget(orderNumber: string): Promise<void> {
  const { client, namespace } = service.temporal;
  await client.workflow.getHandle(orderNumber).result();
  await client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: orderNumber },
  });
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
    const shop = await service.newMerchant({ webhooks: false });
    const keys = many(100, () => randomUUID());
    // All twenty of a key at once, and ten keys at once.
    const post = (key: string) => shop.sandbox.post('/orders', anOrder(), withKey(key));
    const answers = await inTurns(10, keys, (key) => Promise.all(many(20, () => post(key))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const replayed = answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true');
    expect(replayed).toHaveLength(1900);

    const numbers = new Set(answers.map(({ body }) => body.data.order_number));
    expect(numbers.size).toBe(100);
    const [rows] = await service.sql<{ count: number }[]>`
      SELECT count(*) FROM orders WHERE idempotency_key IN ${service.sql(keys)}`;
    expect(rows?.count).toBe(100);
    await until(async () => (await countWorkflowsOf(shop)) === 100);
    for (const number of numbers) {
      const { status } = await service.temporal.client.workflow.getHandle(number).describe();
      expect(status.name).toBe('RUNNING');
    }
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
  /** Thirty commands at once on one PAID order, over HTTP. */
  async function thirtyAtOnce(commandOf: (index: number) => 'deliver' | 'cancel') {
    const order = await paidOrder();
    const handle = service.temporal.client.workflow.getHandle(order.order_number);
    const countAccepted = async () =>
      (await eventNames(handle)).filter((name) => name === 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED')
        .length;
    const acceptedBefore = await countAccepted();
    const ask = (index: number) => merchant.sandbox.post(`${numberOf(order)}/${commandOf(index)}`);
    const answers = await Promise.all(many(30, ask));
    const refused = answers.filter(({ status }) => status === 400);
    return {
      won: answers.filter(({ status }) => status === 200).length,
      refused: refused.length,
      words: new Set(refused.map(({ body }) => body.message)),
      status: (await merchant.sandbox.get(numberOf(order))).body.data.status,
      accepted: (await countAccepted()) - acceptedBefore,
    };
  }

  // A refused Update is in no history, unless the server dropped a workflow task: then some were
  // accepted that should not have been.
  it('of 30 deliveries at once exactly one wins, and the rest are refused', async () => {
    expect(await thirtyAtOnce(() => 'deliver')).toEqual({
      won: 1,
      refused: 29,
      words: new Set([CANNOT_DELIVER]),
      status: 'DELIVERED',
      accepted: 1,
    });
  });

  it('of 15 deliveries and 15 cancellations at once exactly one delivery wins', async () => {
    const outcome = await thirtyAtOnce((index) => (index % 2 === 0 ? 'deliver' : 'cancel'));
    expect(outcome).toEqual({
      won: 1,
      refused: 29,
      words: new Set([CANNOT_DELIVER, CANNOT_CANCEL]),
      status: 'DELIVERED',
      accepted: 1,
    });
  });

  it.each([
    ['deliver', 'DELIVERED', () => paidOrder()],
    ['cancel', 'CANCELLED', () => merchant.sandbox.create()],
  ] as const)(
    'a %s repeated with its key is answered with the order as it is now',
    async (path, status, make) => {
      const order = await make();
      const ask = () =>
        merchant.sandbox.post(`${numberOf(order)}/${path}`, undefined, withKey('once'));
      const first = await ask();
      expect([first.status, first.body.data.status]).toEqual([200, status]);

      const again = await Promise.all(many(5, ask));
      for (const { status: code, headers, body } of again) {
        expect([code, body.data]).toEqual([200, first.body.data]);
        expect(headers.get('Idempotent-Replayed')).toBe('true');
      }
      const fresh = await merchant.sandbox.post(`${numberOf(order)}/${path}`);
      expect(fresh.status).toBe(400);
    },
  );
});

describe('an order that Temporal has forgotten', () => {
  // Temporal takes half a minute for it, and longer on a busy machine.
  const PATIENT = { timeout: 100_000, interval: 100 };
  beforeAll(() => vi.waitUntil(() => isUnknown(forgotten.order_number), PATIENT));

  it('is answered to a replay of its key, which starts nothing', async () => {
    const replay = await merchant.sandbox.post('/orders', anOrder(), withKey(FORGOTTEN_KEY));
    expect(replay.status).toBe(201);
    expect(replay.headers.get('Idempotent-Replayed')).toBe('true');
    expect(replay.body.data).toEqual(forgotten);
    expect(await sweep()).toEqual({ started: 0 });
    expect(await isUnknown(forgotten.order_number)).toBe(true);
  });

  it('is answered to a repeated command as it is now, and refuses a new one', async () => {
    const path = `${numberOf(forgotten)}/cancel`;
    const again = await merchant.sandbox.post(path, undefined, withKey(FORGOTTEN_KEY));
    expect([again.status, again.body.data]).toEqual([200, forgotten]);
    const fresh = await merchant.sandbox.post(path);
    expect([fresh.status, fresh.body.message]).toEqual([400, CANNOT_CANCEL]);
  });
});
