import { GatewayRefused } from '../gateway.ts';
import type { PaymentGateway, RefundInput } from '../gateway.ts';
import type { Answer, RazorpayClient } from './client.ts';
import { listAll } from './list-all.ts';
import { madeUnder, presentRefund, shortText } from './present.ts';
import { refundSchema } from './schemas.ts';
import type { Refund } from './schemas.ts';
import { assertSameAmount, settle } from './settle.ts';
import { listTransfers } from './transfers.ts';

const paymentPath = (gatewayPaymentId: string) =>
  `/v1/payments/${encodeURIComponent(gatewayPaymentId)}`;

/**
 * Refunds, guarded twice: by `X-Refund-Idempotency` (api/refunds/normal-refunds-idempotent), and
 * by looking for the key in the notes of the payment's refunds, which holds however long ago the
 * first try was.
 */
export function createRefunds(
  client: RazorpayClient,
): Pick<PaymentGateway, 'refund' | 'listRefunds'> {
  function refundsOf(operation: string, gatewayPaymentId: string): Promise<Refund[]> {
    const path = `${paymentPath(gatewayPaymentId)}/refunds`;
    return listAll(client, operation, { path }, refundSchema);
  }

  async function refundsUnder(input: RefundInput): Promise<{ live?: Refund; failed: number }> {
    const refunds = await refundsOf('refund', input.gatewayPaymentId);
    const made = refunds.filter(madeUnder(input.idempotencyKey));
    const live = made.find(({ status }) => status !== 'failed');
    if (live === undefined) return { failed: made.length };
    assertSameAmount('refund', live.amount, input.amountPaise);
    return { live, failed: made.length - 1 };
  }

  async function make(input: RefundInput, headerKey: string): Promise<Answer<Refund>> {
    const transfers = await listTransfers(client, 'refund', input.gatewayPaymentId);
    // Without it Razorpay would pay the buyer from our own balance and leave the merchant's share
    // where it is. A reversed transfer counts too, or a repeat would differ from its first try.
    const reverseAll = transfers.some(({ status }) => status !== 'failed');
    const body = {
      amount: input.amountPaise,
      notes: { idempotency_key: input.idempotencyKey, reason: shortText(input.reason) },
      ...(reverseAll && { reverse_all: true }),
    };
    const headers = { 'x-refund-idempotency': headerKey };
    const path = `${paymentPath(input.gatewayPaymentId)}/refund`;
    await input.beforeMoving();
    return client.call({ method: 'POST', path, body, headers }, refundSchema);
  }

  async function refundOnce(input: RefundInput): Promise<Refund> {
    // A refund that Razorpay accepted and that failed afterwards stays the answer to its key, so
    // the next one needs another. Its number is that of the failed ones, the same whoever asks.
    let headerKey = input.idempotencyKey;
    const find = async () => {
      const { live, failed } = await refundsUnder(input);
      if (failed > 0) headerKey = `${input.idempotencyKey}-${failed}`;
      return live;
    };
    return settle({ operation: 'refund', find, make: () => make(input, headerKey) });
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
