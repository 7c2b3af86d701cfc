import type { WorkerOptions } from '@temporalio/worker';
import { expect } from 'vitest';
import type { OrderStatus } from '../../../src/domain/index.ts';
import { ledgerOf } from '../../support/gateway.ts';
import type { DirectOrder } from '../../support/orders.ts';
import { startOrderIn } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const NO_WORKFLOWS = { workflowBundle: undefined } as unknown as Partial<WorkerOptions>;

const test = serviceTest({
  time: 'skipping',
  callbacks: false,
  // It decides the next step and records it. It caches nothing, so that another worker can continue.
  worker: { options: { enableNonLocalActivities: false, maxCachedWorkflows: 0 } },
}).extend('movingWorker', { scope: 'file' }, async ({ service }, { onCleanup }) => {
  const moving = await service.startWorker({}, NO_WORKFLOWS);
  onCleanup(() => moving.stop());
  return moving;
});
test.beforeAll(({ movingWorker }) => void movingWorker);

const SETTLEMENTS: [
  string,
  OrderStatus,
  string,
  (order: DirectOrder, service: TestService) => Promise<unknown>,
  OrderStatus,
][] = [
  [
    'releases',
    'DELIVERED',
    'transfers',
    (_order, service) => service.skip(24 * 3_600_000 + 1000),
    'COMPLETED',
  ],
  ['refunds', 'DISPUTE_OPEN', 'refund', (order) => order.update('accept'), 'REFUNDED'],
];

test.for(SETTLEMENTS)(
  'a settlement outside at the moment at which the gateway %s ends the order once',
  async ([_does, from, call, begin, ends], { service, worker, gateway }) => {
    const merchant = await service.newMerchant();
    const order = await startOrderIn(service, from, merchant);
    const path = `/v1/payments/${(await order.row()).gatewayPaymentId}/${call}`;
    const { hits, endFault } = await gateway.addFault({ kind: 'held', method: 'POST', path });
    await begin(order, service);
    await until(async () => (await hits()) === 1);
    const outcome = ends === 'COMPLETED' ? 'released' : 'refunded';
    // Both wait for the order's next step: the operator's settlement and the gateway's result.
    await worker.stop();
    await service.sql`
      INSERT INTO outside_settlements (order_number, outcome, amount_paise, reason, actor)
      VALUES (${order.orderNumber}, ${outcome}, 49950, 'The gateway was slow', 'operator')`;
    await order.signal('settle', { commandId: 'settle:1', outcome });
    await endFault();
    await until(async () => {
      const { raw } = await order.handle.describe();
      return (raw.pendingActivities ?? []).length === 0;
    });
    await worker.start();
    expect((await order.handle.result()).status).toBe(ends);
    const events = await order.events();
    await merchant.receiver.until(events.length);
    expect(merchant.receiver.received).toHaveLength(events.length);
    expect((await ledgerOf(service, order.orderNumber)).lines).toHaveLength(2);
    const { events: history } = await order.handle.fetchHistory();
    const sent = (history ?? []).flatMap(({ activityTaskScheduledEventAttributes: activity }) =>
      activity?.activityType?.name === 'sendWebhook'
        ? Buffer.from(activity.input?.payloads?.[0]?.data ?? '').toString()
        : [],
    );
    expect(new Set(sent).size).toBe(sent.length);
  },
);
