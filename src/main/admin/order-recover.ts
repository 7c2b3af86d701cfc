import { UsageError, defineCommand } from './command.ts';
import type { AdminService } from './service.ts';
import { facts } from './text.ts';

/** What brings orders and workflows together; loaded only for the commands that do. */
async function recoveryDeps({ sql, log, temporal }: AdminService) {
  const { createOrderWorkflows } = await import('../../temporal/order-workflows.ts');
  return { sql, log, workflows: createOrderWorkflows(await temporal()) };
}

const OUTCOMES = {
  started: 'Its workflow was missing, and is started again.',
  told: 'Its workflow runs, and compares itself with the database now.',
  final: 'It is final: there is nothing to bring back.',
} as const;

export const recoverCommand = defineCommand({
  name: 'order recover',
  summary:
    'Bring an order, or all, and the workflows together, such as after a backup was restored',
  notes: `Starts the workflow of an order that has none, and lets one that runs compare itself with the database. Steps
that only one side has are taken over by the other. Nothing is paid out twice: the gateway is asked first. --all
looks at every order that is not final, and changes only those that differ.`,
  options: {
    order: { value: 'N', help: 'The order number' },
    all: { flag: true, help: 'Every order that is not final' },
  },
  async run(service, { order: orderNumber, all }) {
    if ((orderNumber === undefined) !== all) throw new UsageError('Give either --order N or --all');
    const deps = await recoveryDeps(service);
    if (orderNumber === undefined) {
      const { compareOrders } = await import('../../orders/compare-orders.ts');
      const { compared, recovered } = await compareOrders(deps);
      return {
        data: { compared, recovered },
        text: facts({ Compared: compared, Recovered: recovered }),
      };
    }
    const { recoverOrder } = await import('../../orders/recovery.ts');
    const { findOrderAnywhere } = await import('../../orders/queries.ts');
    await findOrderAnywhere(service.sql, orderNumber);
    const outcome = await recoverOrder(deps, orderNumber);
    return { data: { orderNumber, outcome }, text: OUTCOMES[outcome] };
  },
});
