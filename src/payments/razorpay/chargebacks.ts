import type { PaymentGateway } from '../gateway.ts';
import { valueOf } from './client.ts';
import type { RazorpayClient } from './client.ts';
import { presentChargeback } from './present.ts';
import { collectionOf, disputeSchema } from './schemas.ts';

const DISPUTES = '/v1/disputes';

/** Chargebacks, which Razorpay calls disputes (api/disputes). They are read-only here. */
export function createChargebacks(
  client: RazorpayClient,
): Pick<PaymentGateway, 'fetchChargeback' | 'listNewestChargebacks'> {
  return {
    async fetchChargeback(reversalId) {
      const path = `${DISPUTES}/${encodeURIComponent(reversalId)}`;
      const answer = await client.call({ method: 'GET', path }, disputeSchema);
      return presentChargeback(valueOf('fetchChargeback', answer));
    },

    async listNewestChargebacks() {
      const call = { method: 'GET', path: DISPUTES, query: { count: 100 } } as const;
      const answer = await client.call(call, collectionOf(disputeSchema));
      return valueOf('listNewestChargebacks', answer).items.map(presentChargeback);
    },
  };
}
