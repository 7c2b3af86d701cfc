import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { describe, expect, vi } from 'vitest';
import { ORDER_WORKFLOW } from '../../src/contracts/ids.ts';
import { writeDispute } from '../../src/orders/command-queries.ts';
import { anOrder } from '../support/api-client.ts';
import { sweep } from '../support/gateway.ts';
import { eventNames } from '../support/history.ts';
import type { Merchant } from '../support/merchant.ts';
import { directOrder, writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const FORGOTTEN_KEY = 'of-an-order-long-ago';
const CANNOT_CANCEL = 'Cannot cancel; order must be in ACCEPTED status';
const CANNOT_DELIVER = 'Cannot mark as delivered; order must be in PAID status';

const withKey = (key: string) => ({ 'Idempotency-Key': key });
const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));
/** Processes all items, a limited number at a time. */
async function inTurns<T, R>(
  concurrency: number,
  items: T[],
  work: (item: T) => Promise<R[]>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.values();
  const takeTurns = async () => {
    for (const item of queue) results.push(...(await work(item)));
  };
  await Promise.all(many(concurrency, takeTurns));
  return results;
}
const countWorkflowsOf = async (service: TestService, { merchantId }: Merchant) => {
  const query = `WorkflowType = '${ORDER_WORKFLOW}' AND MerchantId = '${merchantId}'`;
  return (await service.temporal.client.workflow.count(query)).count;
};
const numberOf = (order: { order_number: string }) => `/orders/${order.order_number}`;

async function paidOrder(merchant: Merchant) {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  return order;
}

/** Deletes an order's workflow, as Temporal's retention does. */
async function askToForget(service: TestService, orderNumber: string): Promise<void> {
  const { client, namespace } = service.temporal;
  await client.workflow.getHandle(orderNumber).result();
  await client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: orderNumber },
  });
}

const isUnknown = (service: TestService, orderNumber: string) =>
  service.temporal.client.workflow
    .getHandle(orderNumber)
    .describe()
    .then(
      () => false,
      (error: unknown) => error instanceof WorkflowNotFoundError,
    );

const test = serviceTest({
  time: 'real',
  settings: { SWEEP_AFTER_SECONDS: '0.001' },
  merchant: { webhooks: false },
}).extend('forgotten', { scope: 'file' }, async ({ service, merchant }) => {
  const created = await merchant.sandbox.create({}, withKey(FORGOTTEN_KEY));
  const path = `${numberOf(created)}/cancel`;
  const { body } = await merchant.sandbox.post(path, undefined, withKey(FORGOTTEN_KEY));
  await askToForget(service, body.data.order_number);
  return body.data;
});
// Started early, because Temporal needs some time for it.
test.beforeAll(({ forgotten }) => void forgotten);

describe('an order is created once for each Idempotency-Key', () => {
  test('100 keys, each posted 20 times concurrently, make 100 orders and 100 workflows', async ({
    service,
  }) => {
    const shop = await service.newMerchant({ webhooks: false });
    const keys = many(100, () => randomUUID());
    // All twenty of a key concurrently, and five keys at a time: with more, a slow machine's Temporal
    // would take longer than the API waits.
    const post = (key: string) => shop.sandbox.post('/orders', anOrder(), withKey(key));
    const answers = await inTurns(5, keys, (key) => Promise.all(many(20, () => post(key))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const replayed = answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true');
    expect(replayed).toHaveLength(1900);

    const numbers = new Set(answers.map(({ body }) => body.data.order_number));
    expect(numbers.size).toBe(100);
    const [rows] = await service.sql<{ count: number }[]>`
      SELECT count(*) FROM orders WHERE idempotency_key IN ${service.sql(keys)}`;
    expect(rows?.count).toBe(100);
    await until(async () => (await countWorkflowsOf(service, shop)) === 100);
    for (const number of numbers) {
      const { status } = await service.temporal.client.workflow.getHandle(number).describe();
      expect(status.name).toBe('RUNNING');
    }
  }, 400_000);
});

describe('what an API process leaves when it dies', () => {
  test('the sweeper starts an order without a workflow, once', async ({ service, merchant }) => {
    const key = randomUUID();
    const { merchantId } = merchant;
    const row = await writeOrder(service, { merchantId, idempotencyKey: key });
    const order = directOrder(service, row);
    expect(await isUnknown(service, order.orderNumber)).toBe(true);

    const swept = await Promise.all([sweep(service), sweep(service)]);
    expect(swept.reduce((sum, { started }) => sum + started, 0)).toBeGreaterThanOrEqual(1);
    await order.untilStep('ORDER_CREATED');
    const { runId } = await order.handle.describe();
    expect(await sweep(service)).toEqual({ started: 0, mails: 0 });
    const replay = await merchant.sandbox.post('/orders', anOrder(), withKey(key));
    expect([replay.status, replay.body.data.order_number]).toEqual([201, order.orderNumber]);

    await merchant.sandbox.help(replay.body.data, 'pay');
    expect(await order.events()).toEqual(['1 ORDER_CREATED', '2 PAYMENT_SUCCESS']);
    expect((await order.handle.describe()).runId).toBe(runId);
  });

  test('the sweeper raises a dispute that was written without notifying the workflow, once', async ({
    service,
    merchant,
    orders,
  }) => {
    const order = await paidOrder(merchant);
    const direct = await orders.in('PAID');
    const commandId = `dispute:${randomUUID()}`;
    await writeDispute(service.sql, direct.orderNumber, { commandId, reason: 'It never came' });
    await Promise.all([sweep(service), sweep(service)]);
    await direct.untilStatus('DISPUTE_OPEN');
    await sweep(service);
    expect(await direct.row()).toMatchObject({ disputeCount: 1, disputeReason: 'It never came' });
    expect((await merchant.sandbox.get(numberOf(order))).body.data.status).toBe('PAID');
  });
});

describe('a command is carried out once', () => {
  /** Sends thirty concurrent commands to one PAID order over HTTP. */
  async function thirtyAtOnce(
    service: TestService,
    merchant: Merchant,
    commandOf: (index: number) => 'deliver' | 'cancel',
  ) {
    const order = await paidOrder(merchant);
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

  // A rejected Update is not in the history, unless the server dropped a workflow task: then some
  // Updates were accepted that should have been rejected.
  test('of 30 concurrent deliveries exactly one succeeds, and the rest are refused', async ({
    service,
    merchant,
  }) => {
    expect(await thirtyAtOnce(service, merchant, () => 'deliver')).toEqual({
      won: 1,
      refused: 29,
      words: new Set([CANNOT_DELIVER]),
      status: 'DELIVERED',
      accepted: 1,
    });
  });

  test('of 15 concurrent deliveries and 15 cancellations exactly one delivery succeeds', async ({
    service,
    merchant,
  }) => {
    const outcome = await thirtyAtOnce(service, merchant, (index) =>
      index % 2 === 0 ? 'deliver' : 'cancel',
    );
    expect(outcome).toEqual({
      won: 1,
      refused: 29,
      words: new Set([CANNOT_DELIVER, CANNOT_CANCEL]),
      status: 'DELIVERED',
      accepted: 1,
    });
  });

  test.for([
    ['deliver', 'DELIVERED', paidOrder],
    ['cancel', 'CANCELLED', (merchant: Merchant) => merchant.sandbox.create()],
  ] as const)(
    'a %s repeated with its key returns the order as it is now',
    async ([path, status, make], { merchant }) => {
      const order = await make(merchant);
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

describe('an order whose workflow Temporal has deleted', () => {
  // Temporal needs half a minute for the deletion, and longer on a busy machine.
  const PATIENT = { timeout: 100_000, interval: 100 };
  test.beforeAll(({ service, forgotten }) =>
    vi.waitUntil(() => isUnknown(service, forgotten.order_number), PATIENT),
  );

  test('is returned for a repeated key, which starts no workflow', async ({
    service,
    merchant,
    forgotten,
  }) => {
    const replay = await merchant.sandbox.post('/orders', anOrder(), withKey(FORGOTTEN_KEY));
    expect(replay.status).toBe(201);
    expect(replay.headers.get('Idempotent-Replayed')).toBe('true');
    expect(replay.body.data).toEqual(forgotten);
    expect(await sweep(service)).toEqual({ started: 0, mails: 0 });
    expect(await isUnknown(service, forgotten.order_number)).toBe(true);
  });

  test('is returned as it is now for a repeated command, and refuses a new one', async ({
    merchant,
    forgotten,
  }) => {
    const path = `${numberOf(forgotten)}/cancel`;
    const again = await merchant.sandbox.post(path, undefined, withKey(FORGOTTEN_KEY));
    expect([again.status, again.body.data]).toEqual([200, forgotten]);
    const fresh = await merchant.sandbox.post(path);
    expect([fresh.status, fresh.body.message]).toEqual([400, CANNOT_CANCEL]);
  });
});
