import { expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { DirectOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import type { DyingPlace } from '../support/worker-process.ts';
import { startWorkerThatDies } from '../support/worker-process.ts';

/** The time-out of an activity that moves money, after which Temporal assumes that its worker is dead. */
const MOVING_TIMEOUT_MS = 90_000;

const test = serviceTest({
  time: 'skipping',
  worker: false,
  callbacks: false,
  merchant: { webhooks: false },
});
test.afterEach(({ worker }) => worker.stop());

interface Movement {
  begin: (order: DirectOrder, service: TestService) => Promise<unknown>;
  kinds: string[];
  made: 'transfers' | 'refunds';
  line: RegExp;
  ends: OrderStatus;
}
const RELEASE: Movement = {
  begin: (_order, service) => service.skip(service.config.durations.completionWindowMs + 1000),
  kinds: ['RELEASE_STARTED', 'ORDER_COMPLETED'],
  made: 'transfers',
  line: /^release: merchant_held → merchant_available /,
  ends: 'COMPLETED',
};
const REFUND: Movement = {
  begin: (order) => order.signal('refund'),
  kinds: ['REFUND_STARTED', 'REFUND_PROCESSED'],
  made: 'refunds',
  line: /^refund: merchant_held → refunds /,
  ends: 'REFUNDED',
};

test.for<[DyingPlace, Movement]>([
  ['after releaseFunds', RELEASE],
  ['before ORDER_COMPLETED', RELEASE],
  ['after ORDER_COMPLETED', RELEASE],
  ['after refundPayment', REFUND],
  ['before REFUND_PROCESSED', REFUND],
  ['after REFUND_PROCESSED', REFUND],
])(
  'the worker dies %s: the money moves once, and the order ends once',
  async ([place, { begin, kinds, made, line, ends }], { service, worker, orders }) => {
    await worker.start();
    const order = await orders.in('DELIVERED');
    await worker.stop();
    const doomed = await startWorkerThatDies(service, place);
    await begin(order, service);
    await doomed.exited;
    // Booked, whether its step is recorded or not.
    expect((await order.ledgerLines()).slice(1)).toEqual([expect.stringMatching(line)]);
    expect((await verifyLedger(service.sql)).faults).toEqual([]);
    await worker.start();
    await service.skip(MOVING_TIMEOUT_MS + 5000);
    expect((await order.handle.result()).status).toBe(ends);
    expect((await order.row()).status).toBe(ends);
    expect(await order.made(made)).toHaveLength(1);
    expect((await order.kinds()).slice(3)).toEqual(kinds);
    expect((await order.ledgerLines()).slice(1)).toEqual([expect.stringMatching(line)]);
    expect((await order.events()).slice(3)).toEqual([expect.stringContaining(kinds[1]!)]);
    expect((await verifyLedger(service.sql)).faults).toEqual([]);
  },
);
