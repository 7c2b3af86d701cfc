import { expect } from 'vitest';
import { eventNames } from '../../dev/orders/history.ts';
import { findUnappliedState } from '../../src/orders/public.ts';
import type { ApiProcess } from '../support/api-process.ts';
import { startApiProcess } from '../support/api-process.ts';
import type { Gateway } from '../support/gateway.ts';
import { ledgerOf, madeAtGateway, reconcileLater, simulator } from '../support/gateway.ts';
import { untilBlocked } from '../support/locks.ts';
import { repeated } from '../support/repeated.ts';
import type { restartableWorker } from '../support/restartable-worker.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import type { CallbackKit } from './callback-kit.ts';
import { createCallbackKit } from './callback-kit.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } }).extend(
  'kit',
  { scope: 'file' },
  ({ service, merchant }) => createCallbackKit(service, merchant),
);

type Paid = Awaited<ReturnType<CallbackKit['aPaymentNotYetHeardOf']>>;

/** A payment whose callback a process receives, answers and does not finish. */
interface Scene {
  service: TestService;
  kit: CallbackKit;
  gateway: Gateway;
  worker: ReturnType<typeof restartableWorker>;
  api: ApiProcess;
  paid: Paid;
}

async function answered({ kit, api, paid }: Scene): Promise<void> {
  // On a busy machine the first one may take too long.
  expect((await repeated(() => kit.callBack(paid.body, api))).status).toBe(200);
}

/** Locks the order while the process records its payment. */
async function whileRecording(scene: Scene, work: () => Promise<unknown>): Promise<void> {
  const { service, paid } = scene;
  await service.sql.begin(async (sql) => {
    await sql`SELECT FROM orders WHERE order_number = ${paid.order.order_number} FOR UPDATE`;
    await answered(scene);
    await untilBlocked(service, 'write_capture');
    await scene.api.kill();
    await work();
  });
}

/** Each place where the process is killed after it has stored the callback, and what is recorded then. */
const PLACES = {
  'before the gateway has answered': {
    state: 'reported',
    async die(scene: Scene) {
      const fault = { kind: 'held', method: 'GET', path: '/v1/payments/*' } as const;
      const { endFault } = await scene.gateway.addFault(fault);
      await answered(scene);
      await scene.api.kill();
      await endFault();
    },
  },
  'before the answer of the gateway is recorded': {
    state: 'reported',
    die: (scene: Scene) =>
      whileRecording(
        scene,
        () => scene.service.sql`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'
            AND strpos(query, 'write_capture') > 0 AND pid <> pg_backend_pid()`,
      ),
  },
  'before the order is notified': {
    state: 'confirmed',
    // The database ends a statement also if the process that has sent it is gone.
    async die(scene: Scene) {
      await whileRecording(scene, async () => undefined);
      await until(async () => (await recorded(scene)).length === 1);
    },
  },
} as const;

const recorded = ({ service, paid }: Scene) =>
  service.sql`SELECT FROM payments WHERE gateway_payment_id = ${paid.paymentId}`;

/** Who continues after the death of the process. */
const SUCCESSORS = {
  reconciliation: ({ service }: Scene) => reconcileLater(service),
  'the callback that the gateway sends again': async ({ kit, paid }: Scene) => {
    expect((await kit.callBack(paid.body)).status).toBe(200);
  },
} as const;

/** The gateway's other callbacks about the payment do not arrive, so that nothing else reports it. */
test.beforeEach(async ({ service }) => {
  await service.clock.set(0);
  await simulator(service, 'PATCH', '/callbacks', { hold: true });
});

test.for<[keyof typeof PLACES, keyof typeof SUCCESSORS]>([
  ['before the gateway has answered', 'reconciliation'],
  ['before the gateway has answered', 'the callback that the gateway sends again'],
  ['before the answer of the gateway is recorded', 'reconciliation'],
  ['before the answer of the gateway is recorded', 'the callback that the gateway sends again'],
  ['before the order is notified', 'reconciliation'],
])(
  'a process that is killed behind the 200, %s, loses no payment: %s continues, and the order is PAID once',
  async ([place, successor], { service, kit, gateway, worker }) => {
    const api = await startApiProcess(service);
    const paid = await kit.aPaymentNotYetHeardOf();
    const scene = { service, kit, gateway, worker, api, paid };
    const { order } = paid;
    // Reconciliation does not find the payment by its session.
    await service.sql`
      UPDATE payment_sessions SET next_check_at = NULL WHERE gateway_session_id = ${paid.gatewaySessionId}`;
    await PLACES[place].die(scene);
    expect(await findUnappliedState(service.sql, order.order_number)).toBe(PLACES[place].state);
    expect((await kit.read(order)).status).toBe('ACCEPTED');
    await SUCCESSORS[successor](scene);
    await kit.untilStatus(order, 'PAID');
    await assertPaidOnce(scene);
    await api.stop();
  },
);

test('a process that is killed after the Signal loses no payment: the order continues by itself', async ({
  service,
  kit,
  gateway,
  worker,
  orders,
}) => {
  const api = await startApiProcess(service);
  const paid = await kit.aPaymentNotYetHeardOf();
  const scene = { service, kit, gateway, worker, api, paid };
  const { handle } = await orders.workflowOf(paid.order);
  await worker.whileStopped(async () => {
    await answered(scene);
    await until(async () => (await eventNames(handle)).includes('WORKFLOW_EXECUTION_SIGNALED'));
    await api.kill();
    expect((await kit.read(paid.order)).status).toBe('ACCEPTED');
  });
  await kit.untilStatus(paid.order, 'PAID');
  await assertPaidOnce(scene);
  await api.stop();
});

async function assertPaidOnce(scene: Scene): Promise<void> {
  const { service, kit, paid } = scene;
  // A repeat and another run find nothing left to do.
  await kit.callBack(paid.body);
  await reconcileLater(service);
  expect(await kit.events(paid.order)).toEqual(['ORDER_CREATED', 'PAYMENT_SUCCESS']);
  expect((await ledgerOf(service, paid.order.order_number)).lines).toHaveLength(1);
  expect(await madeAtGateway(service, paid.paymentId, 'refunds')).toEqual([]);
  expect(await findUnappliedState(service.sql, paid.order.order_number)).toBeNull();
}
