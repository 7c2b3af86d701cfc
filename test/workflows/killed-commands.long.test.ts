import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { OrderStatus, StepKind } from '../../src/domain/index.ts';
import { differenceOf } from '../../src/orders/wake/compare-orders.ts';
import { withKey } from '../support/api-client.ts';
import { startApiProcess } from '../support/api-process.ts';
import type { ClientCommand } from '../support/command-requests.ts';
import { ask } from '../support/command-requests.ts';
import { sweep } from '../support/gateway.ts';
import { repeated } from '../support/repeated.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { startWorkerThatDies } from '../support/worker-process.ts';

const test = serviceTest({
  time: 'real',
  worker: false,
  settings: { SWEEP_AFTER_SECONDS: '0.001' },
  callbacks: false,
  merchant: { webhooks: false },
});

test.afterEach(({ worker }) => worker.stop());

test.for<[ClientCommand, OrderStatus, StepKind, OrderStatus]>([
  ['accept', 'DISPUTE_OPEN', 'REFUND_STARTED', 'REFUNDED'],
  ['refund', 'PAID', 'REFUND_STARTED', 'REFUNDED'],
  ['refund', 'DELIVERED', 'REFUND_STARTED', 'REFUNDED'],
  ['dispute', 'DELIVERED', 'DISPUTE_RAISED', 'DISPUTE_OPEN'],
  ['deliver', 'PAID', 'DELIVERY_CONFIRMED', 'DELIVERED'],
])(
  'worker and API are killed when the step of a command is recorded, and the order goes on: %s of %s',
  async ([command, before, kind, after], { service, worker, merchant, orders }) => {
    const { sql } = service;
    await worker.start();
    const order = await orders.in(before);
    await worker.stop();
    const { orderNumber } = order;
    const lines = async () =>
      (
        await sql<{ cause: string }[]>`
        SELECT cause FROM order_wakeups WHERE order_number = ${orderNumber}`
      ).map(({ cause }) => cause);

    const doomed = await startWorkerThatDies(service, `after ${kind}`);
    const api = await startApiProcess(service);
    // On a busy machine the API may respond before the worker dies. Its client repeats the request then.
    const headers = withKey(randomUUID());
    const send = () => ask(api.as(merchant.keys), command, order, { headers });
    const asked = repeated(send).catch(() => 'no answer');
    await doomed.exited;
    await api.kill();
    expect(await asked).toBe('no answer');
    expect((await order.kinds()).at(-1)).toBe(kind);
    expect(await lines()).toEqual(['command']);

    await worker.start();
    await sweep(service);
    await order.untilStatus(after);
    await until(async () => (await differenceOf(service.deps, orderNumber)) === undefined);
    expect(await lines()).toEqual([]);
    expect(await order.made('refunds')).toHaveLength(after === 'REFUNDED' ? 1 : 0);
    expect((await order.kinds()).filter((recorded) => recorded === kind)).toHaveLength(1);
    await api.stop();
  },
);
