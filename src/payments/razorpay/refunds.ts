import { GatewayRefused } from '../gateway/gateway.ts';
import type { PaymentGateway, RefundInput } from '../gateway/gateway.ts';
import type { Answer, RazorpayClient } from './client.ts';
import type { MayLeaveOut } from './list-all.ts';
import { listAll } from './list-all.ts';
import { madeUnder, madeUnderAnother, presentRefund, shortText } from './present.ts';
import { refundSchema } from './schemas.ts';
import type { Refund } from './schemas.ts';
import { assertSameAmount, balanceNamed, findListed, moveOnce } from './move-once.ts';
import { listTransfers } from './transfers.ts';

const paymentPath = (gatewayPaymentId: string) =>
  `/v1/payments/${encodeURIComponent(gatewayPaymentId)}`;

/**
 * Refunds with two guards against a duplicate: `X-Refund-Idempotency`
 * (api/refunds/normal-refunds-idempotent), and a search for the key in the notes of the payment's
 * refunds, which works without a time limit.
 */
export function createRefunds(
  client: RazorpayClient,
): Pick<PaymentGateway, 'refund' | 'listRefunds'> {
  /** No item may be left out, because a conclusion from the sum of all refunds is wrong for a part of them. */
  function refundsOf(
    operation: string,
    gatewayPaymentId: string,
    mayLeaveOut: MayLeaveOut<Refund> = () => false,
  ): Promise<Refund[]> {
    const path = `${paymentPath(gatewayPaymentId)}/refunds`;
    return listAll(client, operation, { path, mayLeaveOut }, refundSchema);
  }

  async function refundsUnder(input: RefundInput): Promise<{ live?: Refund; failed: number }> {
    const isOther = madeUnderAnother(input.idempotencyKey);
    const refunds = await refundsOf('refund', input.gatewayPaymentId, isOther);
    const made = refunds.filter(madeUnder(input.idempotencyKey));
    const live = made.find(({ status }) => status !== 'failed');
    if (live === undefined) return { failed: made.length };
    assertSameAmount('refund', live.amount, input.amountPaise);
    return { live, failed: made.length - 1 };
  }

  async function make(input: RefundInput, headerKey: string): Promise<Answer<Refund>> {
    // Without `reverse_all` Razorpay would refund from the platform's balance and leave the transfer as it is. A
    // reversed transfer counts, too, so that a repeat sends the same body.
    const findTransfer = async () =>
      (await listTransfers(client, 'refund', input.gatewayPaymentId)).find(
        ({ status }) => status !== 'failed',
      );
    const transfer = await (input.mayBeTransferred ? findListed(findTransfer) : findTransfer());
    const body = {
      amount: input.amountPaise,
      notes: { idempotency_key: input.idempotencyKey, reason: shortText(input.reason) },
      ...(transfer && { reverse_all: true }),
    };
    const headers = { 'x-refund-idempotency': headerKey };
    const path = `${paymentPath(input.gatewayPaymentId)}/refund`;
    await input.beforeMoving();
    return balanceNamed(await client.call({ method: 'POST', path, body, headers }, refundSchema));
  }

  async function refundOnce(input: RefundInput): Promise<Refund> {
    // For a key whose refund failed after it was accepted, Razorpay keeps returning that refund. The next refund
    // needs another key, so it has the count of failed refunds, which every process computes alike.
    let headerKey = input.idempotencyKey;
    const find = async () => {
      const { live, failed } = await refundsUnder(input);
      if (failed > 0) headerKey = `${input.idempotencyKey}-${failed}`;
      return live;
    };
    return moveOnce({ operation: 'refund', find, make: () => make(input, headerKey) });
  }

  return {
    async listRefunds(gatewayPaymentId) {
      return (await refundsOf('listRefunds', gatewayPaymentId)).map(presentRefund);
    },

    async refund(input) {
      const refund = await refundOnce(input);
      if (refund.status === 'failed') {
        throw new GatewayRefused('refund', 'REFUND_FAILED', `the refund ${refund.id} failed`);
      }
      return presentRefund(refund);
    },
  };
}
