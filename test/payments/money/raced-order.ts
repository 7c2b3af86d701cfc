import { randomUUID } from 'node:crypto';
import type { PaymentRef } from '../../../src/contracts/ids.ts';
import type { Sql } from '../../../src/db/client.ts';
import type { Command, OrderState } from '../../../src/domain/index.ts';
import { firstChange, decide } from '../../../src/domain/index.ts';
import { createOrderPresenter } from '../../../src/orders/presenter.ts';
import { createStepRecorder } from '../../../src/orders/steps/record-step.ts';
import { writeCapture } from '../../../src/payments/captures/capture-queries.ts';
import { writeMerchant, writePastOrders } from '../../dashboard/past-orders.ts';
import { atRazorpay, capturedWhole, SANDBOX } from '../../support/gateway.ts';

export const AMOUNT_PAISE = 49_950;
const WINDOW_MS = 3_600_000;
/** When the release is tried: after the window, and not late. */
export const RELEASED_AFTER_MS = WINDOW_MS + 60_000;

/**
 * A DELIVERED order with a surplus capture. Its steps are recorded as by its workflow.
 *
 * @param beforeItIsPaid what happens between the captures and PAYMENT_SUCCESS
 */
export async function deliveredOrder(
  serviceSql: Sql,
  beforeItIsPaid = async (_captured: ReturnType<typeof capturedWhole>): Promise<void> => {},
) {
  const orderNumber = `ORD${randomUUID()}`;
  const createdAtMs = Date.now();
  const terms = {
    environment: 'sandbox',
    completionWindowMs: WINDOW_MS,
    disputeAnswerMs: WINDOW_MS,
  } as const;
  let { state }: { state: OrderState } = firstChange(terms, createdAtMs, createdAtMs + WINDOW_MS);
  const row = {
    orderNumber,
    status: 'ACCEPTED',
    amountPaise: AMOUNT_PAISE,
    stepNumber: 1,
  } as const;
  await writePastOrders(serviceSql, await writeMerchant(serviceSql), [row]);
  const [payment, surplus] = [atRazorpay(`pay_${orderNumber}`), atRazorpay(`pay_2_${orderNumber}`)];
  const captureOf = ({ gatewayPaymentId }: PaymentRef) =>
    capturedWhole(gatewayPaymentId, { orderNumber, amountPaise: AMOUNT_PAISE });
  for (const ref of [payment, surplus]) {
    await writeCapture(serviceSql, { at: SANDBOX, payment: captureOf(ref) });
  }

  async function record(sql: Sql, command: Command, atMs = createdAtMs): Promise<string> {
    const decision = decide(state, command, atMs);
    if (decision.outcome === 'refused') throw decision.error;
    const { step, requires = [] } = decision;
    const present = createOrderPresenter('https://a.example');
    const recordStep = createStepRecorder({ sql, present, firstAttempt: { wakeAfterMs: 0 } });
    const { outcome } = await recordStep({
      orderNumber,
      step,
      // The commands of a person have no rows here.
      requires: requires.filter((requirement) => requirement !== 'command_recorded'),
      ...(command.type === 'pay' && { payment }),
    });
    if (outcome === 'recorded') ({ state } = decision);
    return outcome;
  }

  await beforeItIsPaid(captureOf(payment));
  await record(serviceSql, { type: 'pay' });
  await record(serviceSql, { type: 'deliver' });
  return {
    orderNumber,
    payment,
    surplus,
    record,
    releaseAtMs: createdAtMs + RELEASED_AFTER_MS,
    async read() {
      const [found] = await serviceSql<[Record<string, unknown>]>`
        SELECT status, pending_operation->>'kind' AS doing, step_number, reversed_paise,
          waiting_dispute_id IS NOT NULL AS has_dispute,
          (SELECT array_agg(format('%s: %s → %s %s', operation, debit_account, credit_account, amount_paise)
            ORDER BY transfer_id) FROM ledger_transfers l
            WHERE l.order_number = o.order_number AND transfer_id > (SELECT min(transfer_id)
              FROM ledger_transfers WHERE order_number = o.order_number)) AS lines
        FROM orders o WHERE order_number = ${orderNumber}`;
      return found;
    },
  };
}
export type RacedOrder = Awaited<ReturnType<typeof deliveredOrder>>;
