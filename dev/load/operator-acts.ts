import { loadConfig } from '../../src/config.ts';
import { runAdmin } from '../../src/main/admin/run.ts';
import type { LoadOrder } from './order.ts';
import { marked, readOrder, untilFound } from './order.ts';
import { actOfTwo } from './operators.ts';

/** What operators do, and repeat until it is done: with the command line, or two of them together. */
export const OPERATOR_ACTS = {
  decideForMerchant: (order) => decide(order, 'merchant'),
  decideForBuyer: (order) => decide(order, 'buyer'),
  async settleRefunded(order) {
    const reason = 'The gateway has returned the payment';
    const settle = actOfTwo(order.deps.environment, {
      kind: 'order.settle',
      subject: order.orderNumber,
      parameters: { outcome: 'refunded', reference: null, notChecked: false },
      reason,
    });
    // An act that has succeeded has cleared the alerts; the service clears them once the rest was refunded.
    await untilFound(order, 'success of the settlement', async () =>
      (await settle()) === 'done' || (await isRefundOver(order)) ? true : undefined,
    );
  },
  /** The payment was refunded at the gateway before or after it made the order PAID. */
  async endRefundedPayment(order) {
    const ending = await untilFound(order, 'alert about its refunded payment', async () => {
      if (await isRefundOver(order)) return 'over';
      const alerts = (await alertsOf(order)).filter(({ clearedAt }) => clearedAt === null);
      const payment = (await readOrder(order))?.payment;
      if (!alerts.some(({ kind }) => kind === 'refunded_at_gateway')) return undefined;
      if (payment) return 'settle';
      return alerts.some(({ kind }) => kind === 'unfit_capture') ? alerts : undefined;
    });
    if (ending === 'settle') await OPERATOR_ACTS.settleRefunded(order);
    else if (ending !== undefined && ending !== 'over') await clearAlerts(order, ending);
  },
} as const satisfies Record<string, (order: LoadOrder) => Promise<void>>;

/** Decides a dispute: with the command line, or with two operators above the amount that needs them. */
async function decide(order: LoadOrder, winner: 'merchant' | 'buyer'): Promise<void> {
  const { deps, orderNumber, amountPaise } = order;
  const reason = marked(deps, 'reason of a decision', 'The evidence decides it');
  const command = ['dispute', 'decide', '--order', orderNumber, '--for', winner, '--yes'];
  const proposed = { subject: orderNumber, parameters: { winner }, reason };
  const tryOnce =
    amountPaise > loadConfig(deps.environment).proposalAbovePaise
      ? actOfTwo(deps.environment, { kind: 'dispute.decide', ...proposed })
      : async () => {
          const args = [...command, '--reason', reason];
          const { exitCode } = await runAdmin(args, () => deps.environment);
          return exitCode === 0 ? 'done' : 'again';
        };
  await untilFound(order, 'success of a decision', async () => {
    if ((await tryOnce()) === 'done') return true;
    const now = await readOrder(order);
    const isDecided = now?.status !== 'DISPUTE_UNDER_REVIEW' || now.refund !== null;
    return isDecided ? true : undefined;
  });
}

interface Listed {
  readonly alertId: number;
  readonly kind: string;
  readonly clearedAt: string | null;
  readonly details: { readonly orderNumber?: string };
}

/** Whether the service has cleared the alert, because the rest of the payment was refunded. */
async function isRefundOver(order: LoadOrder): Promise<boolean> {
  const alerts = (await alertsOf(order)).filter(({ kind }) => kind === 'refunded_at_gateway');
  return alerts.length > 0 && alerts.every(({ clearedAt }) => clearedAt !== null);
}

/** The order's alerts, also those that are cleared; none while the database does not answer. */
async function alertsOf({ deps: { environment }, orderNumber }: LoadOrder): Promise<Listed[]> {
  const list = ['alert', 'list', '--all', '--limit', '9999', '--json'];
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
