import { timeOf, UsageError, defineCommand } from './command.ts';
import type { AdminService } from './service.ts';
import { facts } from './text.ts';

/** The dependencies of recovery, loaded on demand. */
async function recoveryDeps({ sql, log, temporal }: AdminService) {
  const { createOrderWorkflows } = await import('../../temporal/order-workflows.ts');
  return { sql, log, workflows: createOrderWorkflows(await temporal()) };
}

const GATEWAY_TIMEOUT_MS = 10_000;
const DAY_MS = 24 * 3600_000;

/** Wakes the orders that differ from their workflows, then finds what a restored database has lost. */
async function recoverAll(service: AdminService, since: Date) {
  const [orders, lostOrders, payments, { composeGateways }] = await Promise.all([
    import('../../orders/wake/compare-orders.ts'),
    import('../../orders/wake/lost-orders.ts'),
    import('../../payments/reconcile/recover-payments.ts'),
    import('../compose/compose.ts'),
  ]);
  const deps = await recoveryDeps(service);
  const gateways = await composeGateways(service, GATEWAY_TIMEOUT_MS);
  const { compared, woken } = await orders.compareOrders(deps, { changedSince: since });
  const unsent = await orders.wakeOrdersWithWebhooks(deps);
  const lost = await lostOrders.alertLostOrders(deps, since);
  const sessions = await payments.recoverPayments({ ...deps, gateways }, since.getTime());
  return {
    data: { compared, woken, unsent, lost, sessions },
    text: facts({
      Compared: compared,
      Woken: woken,
      'With unsent webhooks': unsent,
      'Lost by the database': lost,
      'Payment sessions checked': sessions,
    }),
  };
}

const OUTCOMES = {
  started: 'Its workflow was missing, and is started again.',
  signalled: 'Its workflow runs, and now reads what the database has.',
  final: 'It is final: there is nothing to recover.',
} as const;

/** `order recover` */
export const recoverCommand = defineCommand({
  name: 'order recover',
  summary:
    'Wake an order, or all that differ from their workflows, such as after a backup was restored',
  notes: `Starts the workflow of an order that has none; a running workflow reads what the database has. Steps
that only one side has are copied to the other. Nothing is paid out twice: the gateway is asked first. --all compares
the status of every order that is not final, and wakes those that differ; it also sends unsent webhooks, those
of final orders included. It also finds what a restored database has lost since --since, a time before the backup was
made: steps, by waking each order whose workflow has changed since then; ended orders, each of which raises an alert;
and payments, by asking the gateway about every payment session since then. Run it again a minute later: Temporal's
list of workflows lags behind.`,
  options: {
    order: { value: 'N', help: 'The order number' },
    all: { flag: true, help: 'Every order that is not final' },
    since: {
      value: 'ISO',
      help: 'With --all: a time before the backup was made (default: a day ago)',
    },
  },
  async run(service, { order: orderNumber, all, since }) {
    if ((orderNumber === undefined) !== all) throw new UsageError('Give either --order N or --all');
    if (orderNumber === undefined) {
      const aDayAgo = new Date(Date.now() - DAY_MS);
      return recoverAll(service, since === undefined ? aDayAgo : timeOf('since', since));
    }
    const deps = { ...(await recoveryDeps(service)), actor: service.actor };
    const { recoverForOperator } = await import('../../orders/commands/operator-commands.ts');
    const outcome = await recoverForOperator(deps, orderNumber);
    return { data: { orderNumber, outcome }, text: OUTCOMES[outcome] };
  },
});
