import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { isGrpcServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import { eventNames } from '../../dev/orders/history.ts';
import type { OrderMessageName, OrderMessages } from '../../src/contracts/order-workflow.ts';
import type { Environment, OrderStatus } from '../../src/domain/index.ts';
import { newOrderOf, insertOrder } from '../../src/orders/commands/create-order.ts';
import { orderInputOf } from '../../src/orders/wake/wake-order.ts';
import { createOrderPresenter } from '../../src/orders/presenter.ts';
import type { NewOrder } from '../../src/orders/commands/create-order.ts';
import { findOrderByNumber } from '../../src/orders/find-order.ts';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { anOrder } from './api-client.ts';
import {
  atRazorpay,
  captureAtGateway,
  ledgerOf,
  madeAtGateway,
  orderBeingPaid,
  refundInDashboard,
} from './gateway.ts';
import type { Merchant } from './merchant.ts';
import type { TestService } from './service.ts';
import { until } from './until.ts';
import { TEST_ACTOR } from './actor.ts';

export type OrderOverrides = Partial<NewOrder> & { merchantId: string; paymentLinkMs?: number };

/** An order's row as POST /orders writes it, without a workflow: as a killed API leaves it. */
export async function writeOrder(
  { sql, config }: TestService,
  { merchantId, paymentLinkMs = config.durations.paymentLinkMs, ...overrides }: OrderOverrides,
): Promise<OrderRow> {
  const { environment = 'sandbox' } = overrides;
  const request = { merchantId, environment, idempotencyKey: randomUUID(), body: anOrder() };
  const newOrder = { ...newOrderOf(request, config.durations), ...overrides };
  const present = createOrderPresenter(config.publicBaseUrl);
  const { order } = await insertOrder(sql, newOrder, { paymentLinkMs, wakeAfterMs: 0, present });
  return order;
}

/** Records a capture that no gateway has: enough for PAID, not for a release or refund. */
export async function writePayment(
  { sql }: TestService,
  order: Pick<OrderRow, 'orderNumber' | 'environment' | 'amountPaise'>,
): Promise<string> {
  const gatewayPaymentId = `pay_${randomUUID()}`;
  const { orderNumber, environment, amountPaise } = order;
  await sql`INSERT INTO payments ${sql({
    gateway: 'razorpay',
    gatewayPaymentId,
    orderNumber,
    environment,
    amountPaise,
  })}`;
  return gatewayPaymentId;
}

/** A message, with the id of its command if a test has not given one. */
interface Commanded {
  message: unknown;
  commandId?: string;
}

/** A payment, whose row is in `payments`, and a settlement, whose row is in `outside_settlements`. */
const WITHOUT_COMMAND_ROW: readonly OrderMessageName[] = ['pay', 'settle'];

const FAILED_PRECONDITION = 9;

/** True when the server gives an Update up whose workflow task has failed. */
const isTaskFailure = (error: unknown) =>
  error instanceof Error &&
  isGrpcServiceError(error.cause) &&
  error.cause.code === FAILED_PRECONDITION;

/** The workflow of one order, called without the API. */
export function directOrder(service: TestService, order: OrderRow) {
  const { orderNumber } = order;
  const { sql, temporal } = service;
  const handle = temporal.client.workflow.getHandle(orderNumber);
  const row = () => findOrderByNumber(sql, orderNumber);
  const steps = () => sql<{ kind: string; status: OrderStatus; at: Date }[]>`
    SELECT kind, status, at FROM order_steps
    WHERE order_number = ${orderNumber} ORDER BY step_number`;

  /**
   * Gives a message a command id, unless it is malformed or has one, and writes the row that a
   * person's command needs, as the API does.
   */
  async function asCommand(name: OrderMessageName, message: unknown): Promise<Commanded> {
    if (typeof message !== 'object' || message === null || 'commandId' in message) {
      return { message };
    }
    const commandId = `cmd_${randomUUID()}`;
    if (!WITHOUT_COMMAND_ROW.includes(name)) {
      const origin = { actor: TEST_ACTOR, reason: 'A test asks for it' };
      const body = name === 'decide' ? { ...(message as OrderMessages['decide']) } : {};
      await writeCommand(sql, { orderNumber, commandId, name, body, origin });
    }
    return { message: { ...message, commandId }, commandId };
  }

  async function isCarriedOut({ commandId = '' }: Commanded): Promise<boolean> {
    const found = await sql`
      SELECT FROM order_steps WHERE order_number = ${orderNumber} AND command_id = ${commandId}`;
    return found.length > 0;
  }

  /**
   * Repeats an Update whose workflow task failed, because a Signal came as it ended the workflow. If the
   * task was lost after it had recorded the step, Temporal sends the Update once more, and the workflow
   * refuses it: as for the API, the step counts.
   */
  async function update(name: OrderMessageName, message: unknown = {}): Promise<void> {
    const updateId = randomUUID();
    const command = await asCommand(name, message);
    const args: [unknown] = [command.message];
    await until(() =>
      handle.executeUpdate<void, [unknown]>(name, { updateId, args }).then(
        () => true,
        async (error: unknown) => {
          if (isTaskFailure(error)) return false;
          if (await isCarriedOut(command)) return true;
          throw error;
        },
      ),
    );
  }

  /** The gateway's id of the payment that made the order PAID. */
  const paymentId = async () => (await row()).gatewayPaymentId ?? '';

  return {
    orderNumber,
    paymentId,
    /** The refunds or transfers that the gateway has made from its payment, newest first. */
    made: async (what: 'refunds' | 'transfers') => madeAtGateway(service, await paymentId(), what),
    refundInDashboard: async (amountPaise?: number) =>
      refundInDashboard(service, await paymentId(), amountPaise),
    ledgerLines: async () => (await ledgerOf(service, orderNumber)).lines,
    /** The kinds of the order's open alerts. */
    openAlerts: async () =>
      (
        await sql<{ kind: string }[]>`
          SELECT kind FROM alerts
          WHERE subject = ${orderNumber} AND cleared_at IS NULL ORDER BY kind`
      ).map(({ kind }) => kind),
    /** The order number in the API's form, for functions that take an order of the API. */
    order_number: orderNumber,
    handle,
    row,
    steps,
    update,
    async signal(name: OrderMessageName, ...message: unknown[]): Promise<void> {
      const isCommand = !WITHOUT_COMMAND_ROW.includes(name);
      const sent = isCommand ? [(await asCommand(name, message[0] ?? {})).message] : message;
      await handle.signal(name, ...sent);
    },
    /** Sends an Update as from the Temporal UI. @returns the message with which it is rejected */
    async refusalOfBare(name: OrderMessageName, message: object = {}) {
      const sent = handle.executeUpdate<void, [object]>(name, { args: [message] });
      return sent.then(
        () => undefined,
        (error: WorkflowUpdateFailedError) => error.cause?.message,
      );
    },
    async start() {
      await service.deps.workflows.start(orderInputOf(order));
    },
    /** The message with which an Update is rejected, or undefined if it is accepted. */
    async refusalOf(name: OrderMessageName, message: unknown = {}) {
      try {
        await update(name, message);
        return undefined;
      } catch (error) {
        if (error instanceof WorkflowUpdateFailedError) return error.cause?.message;
        throw error;
      }
    },
    kinds: async () => (await steps()).map(({ kind }) => kind),
    /** Webhook events with their sequence numbers, whether or not they are sent. */
    events: async () =>
      (
        await sql<{ type: string; sequence: number }[]>`
          SELECT type, sequence FROM order_events
          WHERE order_number = ${orderNumber} ORDER BY sequence`
      ).map(({ type, sequence }) => `${sequence} ${type}`),
    /** The buyer pays at the gateway; the order has not been notified. */
    capture: () => captureAtGateway(service, order),
    async pay(): Promise<void> {
      await update('pay', atRazorpay(await captureAtGateway(service, order)));
    },
    /** What the Temporal UI shows that the order waits for. */
    currentDetails: async () =>
      (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata'))
        .currentDetails,
    /** Waits for the end of its first task: until then a wake is left out, or finds that task running. */
    untilBegun: () =>
      until(async () => (await eventNames(handle)).includes('WORKFLOW_TASK_COMPLETED')),
    untilStatus: (status: OrderStatus) => until(async () => (await row()).status === status),
    untilStep: (kind: string) =>
      until(async () => (await steps()).some((step) => step.kind === kind)),
  };
}
export type DirectOrder = ReturnType<typeof directOrder>;

/** A started order, by default in the sandbox. */
export async function startOrder(
  service: TestService,
  overrides: OrderOverrides,
): Promise<DirectOrder> {
  const order = directOrder(service, await writeOrder(service, overrides));
  await order.start();
  return order;
}

/** Brings an order to each status, by Updates and skipped time. */
const WAYS: Record<OrderStatus, (order: DirectOrder, service: TestService) => Promise<unknown>> = {
  ACCEPTED: (order) => order.untilBegun(),
  async PAID(order, service) {
    await WAYS.ACCEPTED(order, service);
    await order.pay();
  },
  async DELIVERED(order, service) {
    await WAYS.PAID(order, service);
    await order.update('deliver');
  },
  async DISPUTE_OPEN(order, service) {
    await WAYS.DELIVERED(order, service);
    await order.update('dispute');
  },
  async DISPUTE_UNDER_REVIEW(order, service) {
    await WAYS.DISPUTE_OPEN(order, service);
    await order.update('submitEvidence');
  },
  async COMPLETED(order, service) {
    await WAYS.DELIVERED(order, service);
    await service.skip(service.config.durations.completionWindowMs + 1000);
    await order.untilStatus('COMPLETED');
  },
  async REFUNDED(order, service) {
    await WAYS.DISPUTE_OPEN(order, service);
    await order.update('accept');
    await order.untilStatus('REFUNDED');
  },
  async CANCELLED(order, service) {
    await WAYS.ACCEPTED(order, service);
    await order.update('cancel');
  },
};

/** An order in the given status. */
export async function startOrderIn(
  service: TestService,
  status: OrderStatus,
  overrides: OrderOverrides,
): Promise<DirectOrder> {
  const order = await startOrder(service, overrides);
  await bringTo(status, order, service);
  return order;
}

/** Waits until the order's workflow sends a webhook that its first attempt has not settled. */
export const untilItSends = ({ handle }: DirectOrder) =>
  until(async () => (await handle.describe()).raw.pendingActivities?.length);

/** Brings a new order to a status. */
export const bringTo = (status: OrderStatus, order: DirectOrder, service: TestService) =>
  WAYS[status](order, service);

/** The orders of one merchant. All except those with a payment session are created without the API. */
export function ordersOf(service: TestService, merchant: Merchant) {
  const { merchantId } = merchant;
  type Overrides = Partial<OrderOverrides>;
  return {
    /** An order in the given status, reached by Updates and skipped time. */
    in: (status: OrderStatus, overrides?: Overrides) =>
      startOrderIn(service, status, { merchantId, ...overrides }),
    /** An order whose workflow is started; it may not have run yet. */
    start: (overrides?: Overrides) => startOrder(service, { merchantId, ...overrides }),
    /** An order of the API with an open payment session. */
    beingPaid: (environment?: Environment) => orderBeingPaid(service, merchant, environment),
    /** An order's row without its workflow. */
    write: (overrides?: Overrides) => writeOrder(service, { merchantId, ...overrides }),
    /** The workflow of an order that was created over HTTP. */
    workflowOf: async ({ order_number }: { order_number: string }) =>
      directOrder(service, await findOrderByNumber(service.sql, order_number)),
    /** Suspends the merchant until the test ends: an operator refunds only what the merchant cannot. */
    async suspendMerchant(): Promise<void> {
      const become = (status: string) => service.sql`
        UPDATE merchants SET status = ${status} WHERE merchant_id = ${merchantId}`;
      onTestFinished(async () => void (await become('APPROVED')));
      await become('SUSPENDED');
    },
  };
}
export type Orders = ReturnType<typeof ordersOf>;
