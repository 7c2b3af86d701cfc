import { expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { DirectOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { DyingPlace } from '../support/worker-process.ts';
import { startWorkerThatDies } from '../support/worker-process.ts';

/** Longer than the tests' orders take to be DELIVERED and the next worker to start. */
const WINDOW_SECONDS = '20';

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  merchant: { webhooks: false },
  settings: { COMPLETION_WINDOW_SECONDS: WINDOW_SECONDS },
});
test.afterEach(({ worker }) => worker.stop());

interface Movement {
  begin: (order: DirectOrder) => Promise<unknown>;
  kinds: string[];
  made: 'transfers' | 'refunds';
  line: RegExp;
  ends: OrderStatus;
}
const RELEASE: Movement = {
  // The deadline passes.
  begin: async () => undefined,
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
    await begin(order);
    await doomed.exited;
    // Booked, whether its step is recorded or not.
    expect((await order.ledgerLines()).slice(1)).toEqual([expect.stringMatching(line)]);
    expect((await verifyLedger(service.sql)).faults).toEqual([]);
    await worker.start();
    expect((await order.handle.result()).status).toBe(ends);
    expect((await order.row()).status).toBe(ends);
    expect(await order.made(made)).toHaveLength(1);
    expect((await order.kinds()).slice(3)).toEqual(kinds);
    expect((await order.ledgerLines()).slice(1)).toEqual([expect.stringMatching(line)]);
    expect((await order.events()).slice(3)).toEqual([expect.stringContaining(kinds[1]!)]);
    expect((await verifyLedger(service.sql)).faults).toEqual([]);
  },
);
