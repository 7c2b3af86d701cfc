import { z } from 'zod';
import type { PaymentGateway } from '../gateway/gateway.ts';
import { GatewayRefused, moneyKey } from '../gateway/gateway.ts';
import { createChargebacks } from './chargebacks.ts';
import type { RazorpayClient } from './client.ts';
import { valueOf } from './client.ts';
import { presentChargeback } from './present.ts';
import { createRefunds } from './refunds.ts';
import { disputeSchema } from './schemas.ts';

/** The acts of the buyer's bank, which only the gateway simulator offers. */
export function createSandboxBank(
  client: RazorpayClient,
): Pick<PaymentGateway, 'chargeBackAsBank' | 'failRefundAsBank'> {
  const { listNewestChargebacks } = createChargebacks(client);
  const { listRefunds } = createRefunds(client);
  const control = (path: string, body: Readonly<Record<string, unknown>>) =>
    client.call({ method: 'POST', path: `/simulator${path}`, body }, disputeSchema);
  return {
    async chargeBackAsBank(gatewayPaymentId, outcome) {
      const known = (await listNewestChargebacks()).find(
        (one) => one.gatewayPaymentId === gatewayPaymentId && one.state === 'open',
      );
      const payment = encodeURIComponent(gatewayPaymentId);
      const open =
        known ??
        presentChargeback(
          valueOf('chargeBackAsBank', await control(`/payments/${payment}/disputes`, {})),
        );
      if (outcome === 'open') return open;
      const ended = await control(`/disputes/${encodeURIComponent(open.reversalId)}/status`, {
        status: outcome,
      });
      return presentChargeback(valueOf('chargeBackAsBank', ended));
    },

    async failRefundAsBank(gatewayPaymentId) {
      const key = moneyKey(gatewayPaymentId, 'refund');
      const refund = (await listRefunds(gatewayPaymentId)).find(
        ({ state, idempotencyKey }) => state === 'processed' && idempotencyKey === key,
      );
      if (!refund) {
        throw new GatewayRefused('failRefundAsBank', 'NOT_FOUND', 'No refund is processed');
      }
      const path = `/simulator/refunds/${encodeURIComponent(refund.reversalId)}/end`;
      const call = { method: 'POST', path, body: { status: 'failed' } } as const;
      valueOf('failRefundAsBank', await client.call(call, z.unknown()));
    },
  };
}
