import { runAdmin } from '../../src/main/admin/run.ts';
import type { LoadOrder } from './order.ts';
import { readOrder, untilFound } from './order.ts';

/** What operators do with the command line, and repeat until it is done. */
export const OPERATOR_ACTS = {
  decideForMerchant: (order) => decide(order, 'merchant'),
  decideForBuyer: (order) => decide(order, 'buyer'),
  async settleRefunded(order) {
    const reason = 'The gateway has returned the payment';
    const args = ['--order', order.orderNumber, '--refunded', '--reason', reason, '--yes'];
    // Only a command that has succeeded has cleared the alerts.
    await untilDone(order, ['order', 'settle', ...args], () => false);
  },
  /** The payment was refunded at the gateway before or after it made the order PAID. */
  async endRefundedPayment(order) {
    const ending = await untilFound(order, 'alert about its refunded payment', async () => {
      const alerts = await alertsOf(order);
      const payment = (await readOrder(order))?.payment;
      if (!alerts.some(({ kind }) => kind === 'refunded_at_gateway')) return undefined;
      if (payment) return 'settle';
      return alerts.some(({ kind }) => kind === 'unfit_capture') ? alerts : undefined;
    });
    if (ending === 'settle') await OPERATOR_ACTS.settleRefunded(order);
    else if (ending) await clearAlerts(order, ending);
  },
} as const satisfies Record<string, (order: LoadOrder) => Promise<void>>;

type OrderNow = Awaited<ReturnType<typeof readOrder>>;

/** Runs a command until it succeeds, or an earlier try is seen to have succeeded. */
async function untilDone(
  order: LoadOrder,
  command: readonly string[],
  isDone: (now: OrderNow) => boolean,
): Promise<void> {
  await untilFound(order, `success of ${command.slice(0, 2).join(' ')}`, async () => {
    const { exitCode } = await runAdmin(command, () => order.deps.environment);
    return exitCode === 0 || isDone(await readOrder(order)) ? true : undefined;
  });
}

function decide(order: LoadOrder, winner: 'merchant' | 'buyer'): Promise<void> {
  const reason = 'The evidence decides it';
  const args = ['--order', order.orderNumber, '--for', winner, '--reason', reason, '--yes'];
  return untilDone(
    order,
    ['dispute', 'decide', ...args],
    (now) => now?.status !== 'DISPUTE_UNDER_REVIEW' || now.refund !== null,
  );
}

interface Listed {
  readonly alertId: number;
  readonly kind: string;
  readonly details: { readonly orderNumber?: string };
}

/** The order's open alerts; none while the database does not answer. */
async function alertsOf({ deps: { environment }, orderNumber }: LoadOrder): Promise<Listed[]> {
  const list = ['alert', 'list', '--limit', '9999', '--json'];
  const { stdout, exitCode } = await runAdmin(list, () => environment);
  if (exitCode !== 0) return [];
  const { alerts } = JSON.parse(stdout) as { alerts: Listed[] };
  return alerts.filter(({ details }) => details.orderNumber === orderNumber);
}

/** The gateway has refunded the payment in full, and the order waits for another one. */
async function clearAlerts(order: LoadOrder, alerts: readonly Listed[]): Promise<void> {
  const reason = 'The gateway has refunded the payment in full';
  for (const { alertId } of alerts) {
    const args = ['alert', 'clear', '--id', String(alertId), '--reason', reason];
    await untilFound(order, `end of the alert ${alertId}`, async () => {
      const { exitCode, stderr } = await runAdmin(args, () => order.deps.environment);
      return exitCode === 0 || stderr.includes('is cleared already') ? true : undefined;
    });
  }
}
