import { randomUUID } from 'node:crypto';
import { wakeOrder } from '../../src/orders/wake/wake-order.ts';
import { backUp, loseOrder } from '../support/backup.ts';
import { breakNextEvent, changeOf, writeAsLost } from '../support/differing-sides.ts';
import { breakGateway, CLOSING } from '../support/gateway.ts';
import type { DirectOrder } from '../support/orders.ts';
import { until } from '../support/until.ts';
import type { Path, PathContext } from './paths.ts';
import { endsSoon, start, withSession } from './paths.ts';

/** As many as end a run. */
const MESSAGES_OF_A_RUN = 1000;

const deliver = { type: 'deliver' } as const;

/** The row is restored from a backup made before `change`. */
async function loseFromDatabase(
  { service }: PathContext,
  order: DirectOrder,
  change: () => Promise<unknown>,
) {
  const restore = await backUp(service, order.orderNumber);
  await change();
  await restore();
}

/** An order whose delivery was recorded by a workflow task that was lost. */
async function deliveredByALostTask(context: PathContext) {
  const order = await start(context, 'PAID', { terms: endsSoon });
  const commandId = `deliver:${randomUUID()}`;
  await writeAsLost(context.service, order, await changeOf(context.service, order, deliver), {
    commandId,
  });
  return { order, commandId };
}

/** One for each way in which an order's row and its workflow come to differ: docs/adr/0011. */
export const DIVERGENCES: Record<string, Path> = {
  'database-behind-found-by-a-command': async (context) => {
    const order = await start(context, 'ACCEPTED', { terms: endsSoon });
    await loseFromDatabase(context, order, () => order.pay());
    await order.update('deliver');
    return order;
  },

  'database-behind-found-by-the-comparison': async (context) => {
    const order = await start(context, 'PAID', { terms: endsSoon });
    await loseFromDatabase(context, order, () => order.update('deliver'));
    await wakeOrder(context.service.deps, order.orderNumber);
    return order;
  },

  'database-behind-found-by-a-release': async (context) => {
    const order = await start(context, 'PAID', { terms: endsSoon });
    const fault = { kind: 'held', method: 'POST', path: '/v1/payments/*/transfers' } as const;
    const { endFault, hits } = await breakGateway(context.service, fault);
    await loseFromDatabase(context, order, async () => {
      await order.update('deliver');
      await until(async () => (await hits()) > 0);
    });
    await endFault();
    return order;
  },

  'database-with-another-step': async (context) => {
    const { service } = context;
    const order = await start(context, 'PAID', { terms: endsSoon });
    await loseFromDatabase(context, order, () => order.update('dispute'));
    await writeAsLost(service, order, await changeOf(service, order, deliver), {});
    await wakeOrder(service.deps, order.orderNumber);
    return order;
  },

  'database-without-the-order': async (context) => {
    const { service } = context;
    const order = await start(context, 'ACCEPTED');
    await loseOrder(service, order.orderNumber);
    await service.deps.workflows.wake(order.orderNumber);
    await until(async () => (await order.openAlerts()).includes('order_without_row'));
    return order;
  },

  'workflow-behind-at-its-start': async (context) => {
    const order = await start(context, 'DELIVERED', { terms: endsSoon });
    await order.handle.terminate('Its workflow is lost');
    await order.start();
    return order;
  },

  'workflow-behind-found-by-the-sweep': async (context) => {
    const { order } = await deliveredByALostTask(context);
    await context.service.deps.workflows.wake(order.orderNumber);
    return order;
  },

  'workflow-behind-found-by-a-command': async (context) => {
    const { order } = await deliveredByALostTask(context);
    await order.update('advance', { seconds: 1 });
    return order;
  },

  'workflow-behind-found-by-a-repeated-command': async (context) => {
    const { order, commandId } = await deliveredByALostTask(context);
    await order.update('deliver', { commandId });
    return order;
  },

  'workflow-behind-while-a-session-is-closed': async (context) => {
    const { service } = context;
    const { order } = await withSession(context);
    const fault = { kind: 'late', path: CLOSING, delayMs: 1500 } as const;
    const { endFault } = await breakGateway(service, fault);
    const cancelled = order.update('cancel');
    await order.untilStep('CLOSING_PAYMENT');
    const closed = await changeOf(service, order, { type: 'sessionClosed' });
    await writeAsLost(service, order, closed, {});
    await service.deps.workflows.wake(order.orderNumber);
    await cancelled;
    await endFault();
    return order;
  },

  'ended-order-started-again': async (context) => {
    const order = await start(context, 'DELIVERED', { terms: endsSoon });
    await loseFromDatabase(context, order, () => order.handle.result());
    await wakeOrder(context.service.deps, order.orderNumber);
    return order;
  },

  'ended-order-with-a-lost-delivery': async (context) => {
    const { service } = context;
    const order = await start(context, 'CANCELLED');
    await order.handle.result();
    await service.sql`
      UPDATE webhook_deliveries SET state = 'PENDING', settled_at = NULL, next_attempt_at = created_at
      WHERE event_id IN (SELECT event_id FROM order_events
        WHERE order_number = ${order.orderNumber} AND type = 'ORDER_CANCELLED')`;
    await wakeOrder(service.deps, order.orderNumber);
    return order;
  },

  'step-not-recorded-for-long': async (context) => {
    const order = await start(context, 'PAID', { terms: endsSoon });
    const repair = await breakNextEvent(context.service, order);
    await order.signal('deliver');
    await until(async () => (await order.openAlerts()).includes('step_not_recorded'));
    await repair();
    return order;
  },

  'second-run-of-a-long-order': async (context) => {
    const order = await start(context, 'ACCEPTED', { terms: endsSoon });
    const { runId } = await order.handle.describe();
    for (let sent = 0; sent < MESSAGES_OF_A_RUN; sent += 1) await order.signal('deliver');
    await until(async () => (await order.handle.describe()).runId !== runId);
    await order.pay();
    await order.update('deliver');
    return order;
  },
};
